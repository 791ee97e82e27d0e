"""The pieces of a slab rule: what lies between two y-monotone boundary arcs and two critical heights.

Between consecutive critical heights (corners, horizontal tangents) a horizontal line meets Ω in intervals
[x_l(y), x_r(y)] whose ends move smoothly. Pieces with the same two arcs are joined across heights that are critical
elsewhere only. At a horizontal tangent x ~ √(y − y_0); a substitution, or a Gauss rule with the weight √(y − y_0),
makes the integrand smooth up to the end, so every piece converges exponentially.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from gleg_core.errors import GeometryError
from gleg_domains.gauss import even, jacobi, legendre
from gleg_domains.monotone import MonotoneArc, abscissae

Array = np.ndarray


class End(Enum):
    """How x_l, x_r behave where a piece ends."""

    SMOOTH = "analytic in y"
    CAP = "both ends of the interval run into one smooth extremum"
    ROOT = "an end of the interval behaves like a square root"


@dataclass(frozen=True, eq=False)
class Piece:
    """{(x, y): a < y < b, x_left(y) < x < x_right(y)}."""

    left: MonotoneArc
    right: MonotoneArc
    a: float
    b: float
    low: End
    high: End

    @property
    def height(self) -> float:
        return self.b - self.a

    @property
    def substitution(self) -> str:
        low, high = self.low is not End.SMOOTH, self.high is not End.SMOOTH
        return "both" if low and high else "low" if low else "high" if high else "none"

    def heights(self, u: Array) -> Array:
        """y(u), 0 ≤ u ≤ 1, in which x_left and x_right are smooth up to the ends."""
        a, b, h = self.a, self.b, self.height
        match self.substitution:
            case "low":
                return a + h * u**2
            case "high":
                return b - h * (1 - u) ** 2
            case "both":
                return np.where(u < 0.5, a + h * np.sin(0.5 * np.pi * u) ** 2, b - h * np.cos(0.5 * np.pi * u) ** 2)
        return a + h * u

    def rule(self, n: int) -> tuple[Array, Array]:
        """Nodes u and weights for ∫_a^b … dy with ``n`` heights."""
        ends, h = (self.low, self.high), self.height
        match self.substitution:
            case "none":
                u, w = legendre(n)
                return u, h * w
            case "low":
                u, w = even(n) if self.low is End.CAP else jacobi(n, 1.0)
                return u, 2 * h * u * w
            case "high":
                u, w = even(n) if self.high is End.CAP else jacobi(n, 1.0)
                return 1 - u, 2 * h * u * w
        if ends == (End.CAP, End.CAP):
            k = np.arange(1, n + 1) / (n + 1)
            return k, h * 0.5 * np.pi / (n + 1) * np.sin(np.pi * k)
        u, w = jacobi(n, 1.0, 1.0)
        return u, h * 0.5 * np.pi * np.sin(np.pi * u) * w

    def split(self) -> tuple[Piece, Piece]:
        middle = float(self.heights(np.array([0.5]))[0])
        return (
            Piece(self.left, self.right, self.a, middle, self.low, End.SMOOTH),
            Piece(self.left, self.right, middle, self.b, End.SMOOTH, self.high),
        )


def ends_of(asked: Sequence[tuple[Piece, Array]]) -> list[Array]:
    """x_left and x_right of each piece at its heights, (n_i, 2)."""
    x = abscissae([(part, y) for piece, y in asked for part in (piece.left, piece.right)])
    return [np.column_stack(pair) for pair in zip(x[::2], x[1::2], strict=True)]


def pieces_of(parts: Sequence[MonotoneArc]) -> list[Piece]:
    """Sweep upwards through the critical heights and close a piece whenever its pair of arcs changes."""
    heights = np.array([[p.low, p.high] for p in parts])
    extent = heights.max() - heights.min()
    levels = np.unique(heights)
    levels = levels[np.append(True, np.diff(levels) > 2e-14 * max(extent, np.abs(levels).max()))]
    levels[-1] = heights.max()
    open_since: dict[tuple[int, int], float] = {}
    pieces: list[Piece] = []
    for bottom, order in zip(levels[:-1], _crossed(parts, heights, levels), strict=True):
        pairs = list(zip(order[::2], order[1::2], strict=True))
        for pair in [k for k in open_since if k not in pairs]:
            pieces.append(_piece(parts, pair, open_since.pop(pair), bottom))
        for pair in pairs:
            open_since.setdefault(pair, bottom)
    pieces += [_piece(parts, pair, since, levels[-1]) for pair, since in open_since.items()]
    return pieces


def _crossed(parts: Sequence[MonotoneArc], heights: Array, levels: Array) -> list[list[int]]:
    """The parts a line between consecutive levels meets, from left to right."""
    middles = levels[:-1] + 0.4619 * np.diff(levels)  # not halfway: symmetric domains may touch there
    alive = (heights[:, :1] < middles) & (heights[:, 1:] > middles)
    x = np.full(alive.shape, np.inf)
    x[alive] = np.concatenate(abscissae([(part, middles[row]) for part, row in zip(parts, alive, strict=True)]))
    count = alive.sum(axis=0)
    if (count % 2).any():
        raise GeometryError(f"the boundary is not closed near height {middles[count % 2 == 1][0]:.6g}")
    return [column[:n].tolist() for column, n in zip(np.argsort(x, axis=0).T, count, strict=True)]


def _piece(parts: Sequence[MonotoneArc], pair: tuple[int, int], a: float, b: float) -> Piece:
    left, right = parts[pair[0]], parts[pair[1]]
    near = 1e-10 * (b - a)
    low = _end_type(left, right, a, near, 0)
    high = _end_type(left, right, b, near, 1)
    return Piece(left, right, a, b, low, high)


def _end_type(left: MonotoneArc, right: MonotoneArc, y: float, near: float, side: int) -> End:
    def reaches(part: MonotoneArc) -> bool:
        return abs((part.high if side else part.low) - y) <= near

    joints = [(p.high_joint if side else p.low_joint) for p in (left, right)]
    if joints[0] is not None and joints[0] is joints[1] and reaches(left):
        return End.CAP
    rooted = any(reaches(p) and p.level_ends[side] for p in (left, right))
    return End.ROOT if rooted else End.SMOOTH
