"""The slab rule: Gauss in x times Gauss in y on the pieces between y-monotone boundary arcs.

Between consecutive critical heights (corners, horizontal tangents) a horizontal line meets Ω in intervals
[x_l(y), x_r(y)] whose ends move smoothly. Pieces with the same two arcs are joined across heights that are critical
elsewhere only. At a horizontal tangent x ~ √(y − y_0); a substitution, or a Gauss rule with the weight √(y − y_0),
makes the integrand smooth up to the end, so every piece converges exponentially.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from itertools import pairwise

import numpy as np

from gleg_core.contracts.domain import ROUNDING, Quadrature
from gleg_core.errors import GeometryError
from gleg_domains.arcs import Arc, rotation
from gleg_domains.gauss import count_for, jacobi, legendre
from gleg_domains.monotone import MonotoneArc, monotone_parts

Array = np.ndarray


LINES_ARE_WORTH = 1.5
"""So many times more nodes are accepted where they lie on lines along an axis: see
:meth:`gleg_core.contracts.domain.Domain.quadrature`."""


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
        roots, h = (self.low, self.high), self.height
        match self.substitution:
            case "none":
                u, w = legendre(n)
                return u, h * w
            case "low" if self.low is End.CAP:
                v, w = jacobi(n, 0.5)
                return np.sqrt(v), h * w
            case "low":
                u, w = jacobi(n, 1.0)
                return u, 2 * h * u * w
            case "high" if self.high is End.CAP:
                v, w = jacobi(n, 0.0, 0.5)
                return 1 - np.sqrt(1 - v), h * w
            case "high":
                u, w = jacobi(n, 0.0, 1.0)
                return u, 2 * h * (1 - u) * w
        if roots == (End.CAP, End.CAP):
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


def slab_rule(
    arcs: Sequence[Arc], wavenumber: float, tolerance: float = ROUNDING, angles: Sequence[float] = (0.0, 90.0)
) -> Quadrature:
    """The slab rule with the fewest nodes among lines at the given angles (degrees) to the x axis, those along an axis preferred.

    ``tolerance`` is the aim for the error of one piece, relative to the area of Ω.
    """
    origin = np.mean([arc.at(0.0)[0] for arc in arcs], axis=0)  # phases stay small far from the coordinates' origin
    rules = []
    for degrees in angles:
        turn = rotation(-np.deg2rad(degrees))
        rule = _horizontal_rule([arc.moved(turn, -turn @ origin) for arc in arcs], wavenumber, tolerance)
        rules.append(Quadrature(rule.points @ turn + origin, rule.weights))
    worth = [1.0 if degrees % 90 == 0 else LINES_ARE_WORTH for degrees in angles]
    return min(zip(rules, worth, strict=True), key=lambda pair: len(pair[0].weights) * pair[1])[0]


def _horizontal_rule(arcs: Sequence[Arc], wavenumber: float, tolerance: float) -> Quadrature:
    pieces = pieces_of(monotone_parts(arcs))
    area = sum(_rough_area(p) for p in pieces)
    total_height = sum(p.height for p in pieces)
    aim = _Aim(wavenumber, tolerance * area, total_height, max(2e-13, 0.1 * tolerance))
    rules = [r for p in pieces for r in _piece_rules(p, aim, max(abs(area) ** 0.5, p.height))]
    return Quadrature(np.concatenate([r.points for r in rules]), np.concatenate([r.weights for r in rules]))


def _rough_area(piece: Piece) -> float:
    u, w = piece.rule(12)
    y = piece.heights(u)
    return float(w @ (piece.right.x_at(y) - piece.left.x_at(y)))


def pieces_of(parts: Sequence[MonotoneArc]) -> list[Piece]:
    """Sweep upwards through the critical heights and close a piece whenever its pair of arcs changes."""
    heights = np.array([[p.low, p.high] for p in parts])
    extent = heights.max() - heights.min()
    levels = np.unique(heights)
    levels = levels[np.append(True, np.diff(levels) > 2e-14 * max(extent, np.abs(levels).max()))]
    levels[-1] = heights.max()
    open_since: dict[tuple[int, int], float] = {}
    pieces: list[Piece] = []
    for bottom, top in pairwise(levels):
        middle = bottom + 0.4619 * (top - bottom)  # not halfway: symmetric domains may touch there
        alive = np.nonzero((heights[:, 0] < middle) & (heights[:, 1] > middle))[0]
        x = np.array([parts[int(i)].x_at(np.array([middle]))[0] for i in alive])
        order = [int(i) for i in alive[np.argsort(x)]]
        if len(order) % 2:
            raise GeometryError(f"the boundary is not closed near height {middle:.6g}")
        pairs = list(zip(order[::2], order[1::2], strict=True))
        for pair in [k for k in open_since if k not in pairs]:
            pieces.append(_piece(parts, pair, open_since.pop(pair), bottom))
        for pair in pairs:
            open_since.setdefault(pair, bottom)
    pieces += [_piece(parts, pair, since, levels[-1]) for pair, since in open_since.items()]
    return pieces


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


# --- one piece ---------------------------------------------------------------------------------------------------


@cache
def _chebyshev(m: int) -> tuple[Array, Array, Array]:
    """First-kind nodes on [0, 1], barycentric weights, and the matrix values → coefficients."""
    k = np.arange(m)
    angle = np.pi * (k + 0.5) / m
    transform = 2.0 / m * np.cos(np.outer(k, angle))
    transform[0] *= 0.5
    return 0.5 * (1 - np.cos(angle)), (-1.0) ** k * np.sin(angle), transform * (-1.0) ** k[:, None]


@dataclass(frozen=True, eq=False)
class _Interpolant:
    """x_left, x_right as polynomials in u: cheap to evaluate while a node count is sought."""

    values: Array
    nodes: Array
    weights: Array

    def __call__(self, u: Array) -> Array:
        gap = u[:, None] - self.nodes
        gap[gap == 0] = 1e-300
        kernel = self.weights / gap
        return (kernel @ self.values) / kernel.sum(axis=1)[:, None]


def _interpolate(piece: Piece, extent: float, resolution: float) -> _Interpolant | None:
    """The two ends as polynomials of degree < 128, or None if the piece is not resolved and must be split."""
    for m in (16, 32, 64, 128):
        nodes, weights, transform = _chebyshev(m)
        y = piece.heights(nodes)
        ends = np.column_stack([piece.left.x_at(y), piece.right.x_at(y)])
        size = np.abs(transform @ ends).max(axis=1)
        tail, middle = size[-max(3, m // 10) :].max(), size[m // 3 : m // 2].max()
        # A flat spectrum is rounding in the arcs themselves: splitting would not help.
        if tail <= resolution * extent or (tail <= 1e-8 * extent and tail > 0.2 * middle):
            return _Interpolant(ends, nodes, weights)
        if piece.left.arc.straight and piece.right.arc.straight:
            return _Interpolant(ends, nodes, weights)
    return None


def probe_waves(wavenumber: float) -> Array:
    """Wave vectors (m, 2) that stand for all |κ| ≤ wavenumber: twelve directions at full length, four at half, zero."""
    full = np.pi * np.arange(12) / 12
    half = np.pi * (np.arange(4) + 0.3) / 4
    unit = [np.column_stack([np.cos(t), np.sin(t)]) for t in (full, half)]
    return wavenumber * np.concatenate([unit[0], 0.5 * unit[1], np.zeros((1, 2))])


def _line_integrals(ends: Array, y: Array, waves: Array) -> Array:
    """∫_{x_l}^{x_r} exp(iκ·x) dx for each height and wave, shape (n, m), in closed form."""
    middle, half = 0.5 * (ends[:, 0] + ends[:, 1]), 0.5 * (ends[:, 1] - ends[:, 0])
    phase = np.outer(middle, waves[:, 0]) + np.outer(y, waves[:, 1])
    return 2 * half[:, None] * np.sinc(np.outer(half, waves[:, 0]) / np.pi) * np.exp(1j * phase)


@dataclass(frozen=True)
class _Aim:
    """What a rule must integrate, and how well: the largest wavenumber, the error of one piece, the height of all pieces, and
    how closely the ends of its lines must be known (relative to the extent of Ω) to count heights."""

    wavenumber: float
    error: float
    total_height: float
    resolution: float


def _piece_rules(piece: Piece, aim: _Aim, extent: float, depth: int = 0) -> list[Quadrature]:
    shape = _interpolate(piece, extent, aim.resolution)
    if shape is None and depth < 40 and piece.height > 1e-12 * aim.total_height:
        return [r for half in piece.split() for r in _piece_rules(half, aim, extent, depth + 1)]
    if shape is None:
        nodes, weights, _ = _chebyshev(128)
        y = piece.heights(nodes)
        shape = _Interpolant(np.column_stack([piece.left.x_at(y), piece.right.x_at(y)]), nodes, weights)
    n = _height_count(piece, shape, aim.wavenumber, aim.error)
    return [_lines(piece, n, aim)]


def _height_count(piece: Piece, shape: _Interpolant, wavenumber: float, tolerance: float) -> int:
    """Fewest heights for which the test waves are integrated like by a much finer rule."""
    waves = probe_waves(wavenumber)

    def integral(n: int) -> Array:
        u, w = piece.rule(n)
        return w @ _line_integrals(shape(u), piece.heights(u), waves)

    ends = shape.values
    reach = 0.5 * wavenumber * np.hypot(piece.height, max(np.ptp(ends[:, 0]), np.ptp(ends[:, 1])))
    high = int(count_for(np.array([1.6 * reach]), 1e-15)[0]) + 12
    limit = 4 * high
    while True:
        exact = integral(high + high // 2 + 4)
        if np.abs(integral(high) - exact).max() <= tolerance or high > limit:
            break
        high *= 2
    low = 0
    while high - low > 1:
        middle = (low + high) // 2
        if np.abs(integral(middle) - exact).max() <= tolerance:
            high = middle
        else:
            low = middle
    return high


def _lines(piece: Piece, n: int, aim: _Aim) -> Quadrature:
    u, w = piece.rule(n)
    y = piece.heights(u)
    left, right = piece.left.x_at(y), piece.right.x_at(y)
    half = 0.5 * (right - left)
    keep = half > 0
    y, w, left, half = y[keep], w[keep], left[keep], half[keep]
    counts = _line_counts(aim.wavenumber * half, aim.error / (2 * half * aim.total_height))
    points, weights = [], []
    for m in np.unique(counts):
        rows = counts == m
        t, v = legendre(int(m))
        x = left[rows, None] + 2 * half[rows, None] * t
        points.append(np.column_stack([x.ravel(), np.repeat(y[rows], m)]))
        weights.append((2 * half[rows, None] * w[rows, None] * v).ravel())
    if not points:
        return Quadrature(np.zeros((0, 2)), np.zeros(0))
    return Quadrature(np.concatenate(points), np.concatenate(weights))


def _line_counts(omega: Array, tolerance: Array) -> Array:
    decades = np.clip(np.floor(np.log10(tolerance)), -15, -4)
    counts = np.empty(len(omega), dtype=int)
    for decade in np.unique(decades):
        rows = decades == decade
        counts[rows] = count_for(omega[rows], 10.0**decade)
    return counts
