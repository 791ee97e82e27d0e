"""Boundary arcs cut into branches on which y is monotone, so that x is a function of y."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.polynomial.chebyshev import chebval

from gleg_domains_drawings.arcs import Arc

Array = np.ndarray
Loop = Sequence[Arc]


@dataclass(frozen=True, eq=False)
class Branch:
    """The part of an arc from t_low to t_high (in either direction), y growing from ``low`` to ``high``.

    Neighbours share ``low`` and ``high`` to the last bit, so every line y = const meets a closed loop an even number of times.
    """

    arc: Arc
    t_low: float
    t_high: float
    low: float
    high: float

    @cached_property
    def _table(self) -> tuple[Array, Array, Array]:
        """Parameters, crowded at the ends where y may be quadratic in t, and the points there."""
        fraction = np.array([0.0, 1.0]) if self.arc.straight else 0.5 * (1 - np.cos(np.linspace(0, np.pi, 33)))
        t = self.t_low + (self.t_high - self.t_low) * fraction
        x, y = self.arc.point(t).T
        y[0], y[-1] = self.low, self.high
        return t, x, np.maximum.accumulate(y)

    @cached_property
    def flat_ends(self) -> tuple[bool, bool]:
        """Whether x(y) is nearly vertical at the low and at the high end: x ~ √(y − y_end), or close to it."""
        if self.arc.straight:
            return False, False
        rise = np.abs(self.arc.velocity(self._table[0])[:, 1])
        return bool(rise[0] < 0.2 * rise.max()), bool(rise[-1] < 0.2 * rise.max())

    def x_at(self, y: Array) -> Array:
        """x on the branch at heights y, (n,) → (n,)."""
        t_table, x_table, y_table = self._table
        if self.arc.straight:
            return x_table[0] + (y - self.low) / (self.high - self.low) * (x_table[1] - x_table[0])
        cell = np.clip(np.searchsorted(y_table, y, side="right") - 1, 0, len(y_table) - 2)
        rise = np.maximum(y_table[cell + 1] - y_table[cell], np.finfo(float).tiny)
        fraction = np.clip((y - y_table[cell]) / rise, 0.0, 1.0)
        return chebval(self._solve(y, t_table[cell], t_table[cell + 1], fraction), self.arc.coefficients[:, 0])

    def _solve(self, y: Array, below: Array, above: Array, fraction: Array) -> Array:
        """t with y(t) = y between ``below`` and ``above``: Newton's method, kept inside a shrinking bracket."""
        series, slope = self.arc.coefficients[:, 1], self.arc.derivative[:, 1]
        t = below + fraction * (above - below)
        for _ in range(60):
            miss = chebval(t, series) - y
            below, above = np.where(miss <= 0, t, below), np.where(miss >= 0, t, above)
            with np.errstate(divide="ignore", invalid="ignore"):
                newton = t - miss / chebval(t, slope)
            between = (newton - below) * (newton - above) <= 0  # false for nan
            new = np.where(between, newton, 0.5 * (below + above))
            # Newton's method squares the error: after a step this small, the next one is rounding.
            settled = (np.abs(new - t) <= 1e-9) & between
            t = new
            if (settled | (below == above)).all():
                break
        return t


def branches(loops: Iterable[Loop], walls: Sequence[float] = ()) -> tuple[list[Branch], list[float]]:
    """Branches of closed loops, also cut at the lines x = ``walls``, and the heights of horizontal parts (left out)."""
    found: list[Branch] = []
    level: list[float] = []
    for loop in loops:
        for arc, following in zip(loop, [*loop[1:], loop[0]], strict=True):
            cuts = [arc.turning_points(1), *(arc.crossings(0, wall) for wall in walls)]
            inner = np.unique(np.concatenate(cuts))
            t = np.concatenate([[-1.0], inner, [1.0]])
            y = np.concatenate([arc.start[1:], arc.point(inner)[:, 1], following.start[1:]])
            for (y_low, t_low), (y_high, t_high) in map(sorted, pairwise(zip(y.tolist(), t.tolist(), strict=True))):
                if y_low == y_high:
                    level.append(y_low)
                else:
                    found.append(Branch(arc, t_low, t_high, y_low, y_high))
    return found, level
