"""What a few trial solutions of rising resolution say about the error of the last one, and about the resolution that is needed.

Trials u_1, u_2, … have resolutions n_1 < n_2 < … and

    δ_i = ‖u_i − u_{i−1}‖        which is about the error of u_{i−1},
    p_i                          the error of u_i at the start: how well its space represents the initial state.

Errors fall at least geometrically while they fall, so that of u_i is about δ_i times the factor by which they fell before. If δ_i is
hardly more than p_{i−1}, the error is that of representing states like the initial one, and p_i/p_{i−1} is the factor from u_{i−1} to u_i
itself. All norms are relative to the size of the solution.
"""

import math
from dataclasses import dataclass

_GROWTH, _LEAST_GROWTH = 1.25, 1.08
"""Of the resolution from trial to trial."""
_LEAST_FALL, _LEAST_START_FALL = 0.03, 0.003
"""Errors are not trusted to fall faster than this from one trial to the next; the second where the error at the start says so."""
_EXPLAINED = 3.0
"""A change at most so many times the error at the start is explained by it."""


@dataclass(frozen=True)
class Convergence:
    """n_i and p_i of the trials so far, δ_i from the second on."""

    sizes: tuple[int, ...]
    starts: tuple[float, ...]
    changes: tuple[float, ...] = ()

    def then(self, size: int, start: float, change: float) -> "Convergence":
        """With one more trial."""
        return Convergence((*self.sizes, size), (*self.starts, start), (*self.changes, change))

    @property
    def explained(self) -> bool:
        """Whether the last change is that of the start: δ_i is hardly more than p_{i−1}."""
        return bool(self.changes) and self.changes[-1] <= _EXPLAINED * self.starts[-2]

    @property
    def _fall(self) -> float | None:
        """The last known factor between errors, from 1 down to what is trusted; None if none is known."""
        if self.explained:
            (before, last), least = self.starts[-2:], _LEAST_START_FALL
        elif len(self.changes) > 1:
            (before, last), least = self.changes[-2:], _LEAST_FALL
        else:
            return None
        return min(1.0, max(last / before, least)) if before > 0 else 1.0

    @property
    def _rate(self) -> float:
        """s, by which the logarithm of the error falls per unit of resolution; 0 if it does not."""
        assert self._fall is not None
        step = self.sizes[-1] - self.sizes[-2] if self.explained else self.sizes[-2] - self.sizes[-3]
        return -math.log(self._fall) / step

    @property
    def error(self) -> float:
        """Of the last trial. A longer way from trial to trial is not trusted to bring more than the last one did."""
        if self._fall is None:
            return self.changes[-1]
        return self.changes[-1] * max(self._fall, math.exp(-self._rate * (self.sizes[-1] - self.sizes[-2])))

    def next(self, wanted: float) -> int:
        """As far as the error has to fall at the rate at which it fell, within the limits of growth."""
        last = self.sizes[-1]
        most = larger(last)
        if not self.changes or self._fall is None or self._rate == 0.0:
            return most
        missing = math.log(max(self.error / wanted, 1.0))
        return min(most, math.ceil(max(_LEAST_GROWTH * last, last + missing / self._rate)))


def larger(size: int) -> int:
    """The next resolution where nothing is known."""
    return math.ceil(_GROWTH * size)


def smaller(size: int) -> int:
    """The resolution before, at least 2."""
    return max(2, round(size / _GROWTH))


def needed(sizes: tuple[int, int], errors: tuple[float, float], wanted: float) -> int | None:
    """The resolution at which an error that fell geometrically between two others falls to ``wanted``; None if it did not fall, or if that
    is farther away than a trial goes. Between the two it is one more, because errors fall ever faster."""
    (a, b), (first, last) = sizes, errors
    if not last < first:
        return None
    found = a + (b - a) * math.log(first / wanted) / math.log(first / max(last, 1e-300))
    return math.ceil(found) + (last <= wanted) if found <= larger(b) else None
