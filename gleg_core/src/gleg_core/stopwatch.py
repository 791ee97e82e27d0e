"""A stopwatch for the stages of a computation."""

from __future__ import annotations

import time


class Stopwatch:
    """Seconds by stage, from its making on."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, stage: str) -> float:
        """Seconds since the last lap; they are added to those of ``stage``."""
        now = time.perf_counter()
        seconds, self._last = now - self._last, now
        self.laps[stage] = self.laps.get(stage, 0.0) + seconds
        return seconds
