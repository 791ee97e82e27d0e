"""Seconds by stage."""

import time


class Stopwatch:
    """Runs from its making on; ``laps`` are the seconds of every stage so far."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, stage: str) -> float:
        """The seconds since the last lap, counted for ``stage``."""
        now = time.perf_counter()
        seconds, self._last = now - self._last, now
        self.laps[stage] = self.laps.get(stage, 0.0) + seconds
        return seconds
