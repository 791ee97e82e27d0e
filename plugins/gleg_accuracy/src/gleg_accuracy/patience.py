"""How long trials may take: a run that there is can be kept, and one that would take too long can be given up."""

import time
from collections.abc import Callable

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
        self._patience.require(self._remaining(t, end) / _HOPELESS)

    def _remaining(self, t: float, end: float) -> float:
        """Seconds until the end, 0 as long as that cannot be told."""
        now = time.perf_counter()
        if self._first is None:
            self._first = t, now
        began, since = self._first
        if now - since <= _SEEN * self._allowed or t <= began:
            return 0.0
        return (now - since) * (end - t) / (t - began)


class Doubt(Watch):
    """Gives up what would take very much longer, if something else may be done instead."""

    def __init__(self, patience: Patience, listener: Listener, instead: Callable[[], bool]):
        super().__init__(patience, listener)
        self._instead = instead

    def progress(self, t: float, end: float) -> None:
        self._listener.progress(t, end)
        remaining = self._remaining(t, end)
        if remaining > _HOPELESS * self._allowed:
            self._allowed = float("inf")  # asked once
            if self._instead():
                raise OutOfPatience(f"it would take {remaining / 60:,.0f} minutes")
