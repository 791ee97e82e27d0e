"""The pieces of a slab rule: what lies between two y-monotone boundary arcs and two critical heights.

Between consecutive critical heights (corners, horizontal tangents) a horizontal line meets Ω in intervals
[x_l(y), x_r(y)] whose ends move smoothly. Pieces with the same two arcs are joined across heights that are critical
elsewhere only. At a horizontal tangent x ~ √(y − y_0); a substitution, or a Gauss rule with the weight √(y − y_0),
makes the integrand smooth up to the end, so every piece converges exponentially.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
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

    def heights(self, u: Array) -> Array:
        """y(u), 0 ≤ u ≤ 1, in which x_left and x_right are smooth up to the ends."""
        a, b, h = self.a, self.b, self.height
        match self.low is End.SMOOTH, self.high is End.SMOOTH:
            case True, True:
                return a + h * u
            case False, True:
                return a + h * u**2
            case True, False:
                return b - h * (1 - u) ** 2
        return np.where(u < 0.5, a + h * np.sin(0.5 * np.pi * u) ** 2, b - h * np.cos(0.5 * np.pi * u) ** 2)

    def rule(self, n: int) -> tuple[Array, Array]:
        """Nodes u and weights for ∫_a^b … dy with ``n`` heights."""
        h = self.height
        match [end for end in (self.low, self.high) if end is not End.SMOOTH]:
            case []:
                u, w = legendre(n)
                return u, h * w
            case [end]:
                u, w = even(n) if end is End.CAP else jacobi(n, 1.0)
                return (u if self.high is End.SMOOTH else 1 - u), 2 * h * u * w
            case [End.CAP, End.CAP]:
                u, w = np.arange(1, n + 1) / (n + 1), np.full(n, 1 / (n + 1))
            case _:
                u, w = jacobi(n, 1.0, 1.0)
        return u, h * 0.5 * np.pi * w * np.sin(np.pi * u)

    def split(self) -> "tuple[Piece, Piece]":
        middle = float(self.heights(np.array([0.5]))[0])
        return replace(self, b=middle, high=End.SMOOTH), replace(self, a=middle, low=End.SMOOTH)


def ends_of(asked: Sequence[tuple[Piece, Array]]) -> list[Array]:
    """x_left and x_right of each piece at its heights, (n_i, 2)."""
    x = abscissae([(part, y) for piece, y in asked for part in (piece.left, piece.right)])
    return [np.column_stack(pair) for pair in zip(x[::2], x[1::2], strict=True)]


def pieces_of(parts: Sequence[MonotoneArc]) -> list[Piece]:
    """Sweep upwards through the critical heights; a piece ends where its pair of arcs changes."""
    heights = np.array([[p.low, p.high] for p in parts])
    extent = heights.max() - heights.min()
    levels = np.unique(heights)
    levels = levels[np.append(True, np.diff(levels) > 2e-14 * max(extent, np.abs(levels).max()))]
    levels[-1] = heights.max()
    return [_piece(parts[i], parts[j], a, b) for (i, j), a, b in paired(levels, _crossed(parts, heights, levels))]


def paired(levels: Array, orders: Iterable[Sequence[int]]) -> list[tuple[tuple[int, int], float, float]]:
    """Pairs of arcs with Ω between them, and from which to which height: ``orders`` holds for each two consecutive levels the
    arcs between them from left to right."""
    since: dict[tuple[int, int], float] = {}
    done: list[tuple[tuple[int, int], float, float]] = []
    for bottom, order in zip(levels[:-1], orders, strict=True):
        pairs = list(zip(order[::2], order[1::2], strict=False))
        done += [(pair, since.pop(pair), bottom) for pair in list(since) if pair not in pairs]
        for pair in pairs:
            since.setdefault(pair, bottom)
    return done + [(pair, bottom, levels[-1]) for pair, bottom in since.items()]


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


def _piece(left: MonotoneArc, right: MonotoneArc, a: float, b: float) -> Piece:
    def end(y: float, side: int) -> End:
        """How the piece ends at its low (0) or high (1) side."""
        reached = [p for p in (left, right) if abs((p.low, p.high)[side] - y) <= 1e-10 * (b - a)]
        joint = left.joints[side]
        if joint is not None and joint is right.joints[side] and left in reached:
            return End.CAP
        return End.ROOT if any(p.level_ends[side] for p in reached) else End.SMOOTH

    return Piece(left, right, a, b, end(a, 0), end(b, 1))
