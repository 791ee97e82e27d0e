"""How long trials may take: a run that there is can be kept, and one that would take too long can be given up."""

import time

from gleg_core.terminal import Listener

_HOPELESS = 10.0
"""A trial is given up early if it would take so many times what is left."""
_SEEN = 0.2
"""Part of what was left at its beginning after which that is judged: first steps are short."""


class OutOfPatience(Exception):
    """A trial was given up."""


class Patience:
    """So many seconds from now on."""

    def __init__(self, seconds: float):
        self.seconds, self._until = seconds, time.perf_counter() + seconds

    @property
    def left(self) -> float:
        return self._until - time.perf_counter()

    def require(self, seconds: float = 0.0) -> None:
        """Give up if there is no time left, or not enough for what takes at least so many seconds."""
        if self.left <= seconds:
            raise OutOfPatience

    def watching(self, listener: Listener) -> "Watch":
        """A listener that gives its trial up when it takes too long."""
        return Watch(self, listener)


class Watch:
    """Passes on what it is told."""

    def __init__(self, patience: Patience, listener: Listener):
        self._patience, self._listener, self._allowed = patience, listener, patience.left
        self._first: tuple[float, float] | None = None

    def stage(self, name: str, facts: str, seconds: float) -> None:
        self._listener.stage(name, facts, seconds)

    def progress(self, t: float, end: float) -> None:
        self._listener.progress(t, end)
        self._patience.require()
        now = time.perf_counter()
        if self._first is None:
            self._first = t, now
            return
        began, since = self._first
        if now - since > _SEEN * self._allowed and t > began:
            remaining = (now - since) * (end - t) / (t - began)
            self._patience.require(remaining / _HOPELESS)
