"""The slab rule: Gauss in x times Gauss in y on the pieces between y-monotone boundary arcs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gleg_core.contracts.domain import Quadrature
from gleg_domains.arcs import Arc, rotation
from gleg_domains.gauss import count_for, legendre
from gleg_domains.monotone import monotone_parts
from gleg_domains.pieces import Piece, ends_of, pieces_of
from gleg_domains.shapes import Shape, resolved

Array = np.ndarray
LINES_ARE_WORTH = 1.5
"""So many times more nodes are accepted where they lie on lines along an axis: see
:meth:`gleg_core.contracts.domain.Domain.quadrature`."""
HALVING_SAVES = 1.5
"""Halving strips hardly ever takes fewer nodes by more than this factor: a direction that needs more is not tried."""


def slab_rule(
    arcs: Sequence[Arc], area: float, wavenumber: float, tolerance: float, angles: Sequence[float], most: float
) -> Quadrature | None:
    """The slab rule with the fewest nodes among lines at the given angles (degrees) to the x axis, those along an axis preferred; None
    if it has more than ``most`` nodes.

    ``tolerance`` is the aim for the error of one piece, relative to the ``area`` of Ω.
    """
    origin = np.mean([arc.at(0.0)[0] for arc in arcs], axis=0)  # phases stay small far from the coordinates' origin
    drafts = []
    for degrees in angles:
        turn, worth = rotation(-np.deg2rad(degrees)), LINES_ARE_WORTH
        if degrees % 90 == 0:
            turn, worth = np.rint(turn), 1.0
        plan = _plan([arc.moved(turn, -turn @ origin) for arc in arcs], area, wavenumber, tolerance)
        drafts.append((worth, plan, turn))
    best = None
    for worth, draft, turn in sorted(drafts, key=lambda d: d[0] * d[1].nodes):
        if worth * draft.nodes <= HALVING_SAVES * most and worth * (plan := draft.halved()).nodes <= most:
            best, most = (plan, turn), worth * plan.nodes
    if best is None:
        return None
    rule, turn = best[0].rule(), best[1]
    return Quadrature(rule.points @ turn + origin, rule.weights)


@dataclass(frozen=True, eq=False)
class _Aim:
    """What a rule must integrate, and how well: the largest wavenumber, the area of Ω, the error of one piece and the height of all; to
    count heights the ends of lines need be known within ``resolution`` only, where ``extent`` is the size of Ω."""

    wavenumber: float
    area: float
    error: float
    total_height: float
    resolution: float
    extent: float

    @cached_property
    def waves(self) -> Array:
        return probe_waves(self.wavenumber)

    def line_counts(self, half: Array) -> Array:
        """Nodes on lines of length 2·half > 0, (n,)."""
        return count_for(self.wavenumber * half, self.error / (2 * half * self.total_height))


@dataclass(frozen=True, eq=False)
class _Strip:
    """A piece with its number of heights and about how many nodes that makes; ``slow`` if not the waves but a sharp bend near it asks for
    so many heights."""

    piece: Piece
    heights: int
    nodes: int
    slow: bool


@dataclass(frozen=True, eq=False)
class _Plan:
    """A rule with horizontal lines before its nodes are made."""

    strips: list[_Strip]
    aim: _Aim

    @cached_property
    def nodes(self) -> int:
        return sum(strip.nodes for strip in self.strips)

    def halved(self) -> "_Plan":
        return _Plan([part for strip in self.strips for part in _halved(strip, self.aim)], self.aim)

    def rule(self) -> Quadrature:
        pieces = [strip.piece for strip in self.strips]
        rules = [strip.piece.rule(strip.heights) for strip in self.strips]
        heights = [piece.heights(u) for piece, (u, _) in zip(pieces, rules, strict=True)]
        ends = np.concatenate(ends_of(list(zip(pieces, heights, strict=True))))
        y, w, half = np.concatenate(heights), np.concatenate([w for _, w in rules]), 0.5 * (ends[:, 1] - ends[:, 0])
        keep = half > 0
        return lines_rule(ends[keep], y[keep], w[keep], self.aim.line_counts(half[keep]))


def _plan(arcs: Sequence[Arc], area: float, wavenumber: float, tolerance: float) -> _Plan:
    pieces = pieces_of(monotone_parts(arcs))
    extent = max(area**0.5, *(p.height for p in pieces))
    resolution = max(2e-13, 0.1 * tolerance) * extent
    aim = _Aim(wavenumber, area, tolerance * area, sum(p.height for p in pieces), resolution, extent)
    return _Plan(_strips(pieces, aim), aim)


def _strips(pieces: Sequence[Piece], aim: _Aim) -> list[_Strip]:
    return [_strip(piece, shape, aim) for piece, shape in resolved(pieces, aim.resolution, aim.extent)]


def _halved(strip: _Strip, aim: _Aim) -> list[_Strip]:
    """A slow strip in halves, and these in halves, where that takes fewer nodes."""
    if not strip.slow:
        return [strip]
    parts = [part for half in _strips(strip.piece.split(), aim) for part in _halved(half, aim)]
    return parts if sum(part.nodes for part in parts) < strip.nodes else [strip]


def _strip(piece: Piece, shape: Shape, aim: _Aim) -> _Strip:
    reach = 0.5 * aim.wavenumber * np.hypot(piece.height, np.ptp(shape.values, axis=0).max())
    expected = int(count_for(np.array([1.2 * reach]), aim.error / aim.area)[0]) + 4
    n = _height_count(piece, shape, aim, expected)
    half = 0.5 * np.diff(shape(piece.rule(n)[0]), axis=1)[:, 0]
    return _Strip(piece, n, int(aim.line_counts(half[half > 0]).sum()), n > expected)


# --- heights -----------------------------------------------------------------------------------------------------


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
    reach = np.outer(half, waves[:, 0]) + 1e-300
    size = 2 * half[:, None] * (np.sin(reach) / reach)
    result = np.empty(phase.shape, dtype=complex)
    result.real, result.imag = size * np.cos(phase), size * np.sin(phase)
    return result


def _height_count(piece: Piece, shape: Shape, aim: _Aim, expected: int) -> int:
    """Fewest heights for which the test waves are integrated like by a much finer rule."""

    def integral(n: int) -> Array:
        u, w = piece.rule(n)
        return w @ _line_integrals(shape(u), piece.heights(u), aim.waves)

    def error(n: int) -> float:
        return float(np.abs(integral(n) - exact).max())

    high = expected
    while True:
        exact = integral(high + high // 2 + 4)
        if (missed := error(high)) <= aim.error or high > 12 * expected:
            break
        high *= 2
    return _fewest(error, aim.error, high, missed, float(np.abs(exact).max()))


def _fewest(error: Callable[[int], float], tolerance: float, high: int, at_high: float, at_low: float) -> int:
    """The least n with error(n) ≤ tolerance; log error falls ever faster, so a chord is too low and is followed by a bisection."""
    low, chord = 0, True
    while high - low > 1:
        middle = (low + high) // 2
        if chord and at_low > tolerance > at_high > 0:
            part = np.log(at_low / tolerance) / np.log(at_low / at_high)
            middle = min(max(low + int(np.ceil(part * (high - low))), low + 1), high - 1)
        chord = not chord
        if (found := error(middle)) <= tolerance:
            high, at_high = middle, found
        else:
            low, at_low = middle, found
    return high


# --- lines -------------------------------------------------------------------------------------------------------


def lines_rule(ends: Array, y: Array, w: Array, counts: Array) -> Quadrature:
    """Gauss rules with ``counts`` nodes on the lines between ``ends`` (n, 2) at heights y with weights w, each (n,)."""
    left, length = ends[:, 0], ends[:, 1] - ends[:, 0]
    points, weights = [np.zeros((0, 2))], [np.zeros(0)]
    for m in np.unique(counts):
        rows = counts == m
        t, v = legendre(int(m))
        x = left[rows, None] + length[rows, None] * t
        points.append(np.column_stack([x.ravel(), np.repeat(y[rows], m)]))
        weights.append((length[rows, None] * w[rows, None] * v).ravel())
    return Quadrature(np.concatenate(points), np.concatenate(weights))
