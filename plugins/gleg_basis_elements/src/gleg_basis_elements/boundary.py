"""∂Ω and interfaces as chords: pieces of smooth curves, so short that elements beside them can follow the curves."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.interpolate import make_interp_spline
from scipy.optimize import minimize_scalar
from scipy.spatial import cKDTree

from gleg_basis_elements.sizes import Sizes
from gleg_core.contracts.domain import Curve, Domain, Segment
from gleg_core.errors import GeometryError

Array = np.ndarray
_SHORT, _SHORTEST = 0.1, 1e-7
"""An edge shorter than this part of the cells beside it makes these smaller; below this part of the extent it is refused."""
Size = Callable[[Array], Array]
"""Wanted length of edges at points (n, 2): (n,)."""
_LOOKED_AT = 200
"""Points of a curve that are looked at to divide it; more where it turns much."""
_KINK = 0.35
"""Radians by which an outline of unknown curves turns at a corner, at least."""
_TANGENTIAL = 1e-3
"""Angle, in radians, below which curves touch in a cusp."""
_MEET = 1e-8
"""Ends closer than this part of the domain's extent are one point."""
_APART = 1e-6
"""A marked point closer than this part of a curve's extent is on the curve, or is its end."""


@dataclass(frozen=True)
class Chords:
    """Chords of ``curves``: ``curve`` (c,) their numbers, ``span`` (c, 2) the parameters of the ends, ``ends`` (c, 2) numbers of
    ``points`` (v, 2). Ω is on the left. ``segment`` (c,): the number of the segment, −1 for an interface."""

    curves: Sequence[Curve]
    points: Array
    ends: Array
    curve: Array
    span: Array
    segment: Array

    def at(self, chord: Array, fraction: Array) -> Array:
        """Points (n, 2) of the curves at fractions of the parameters of chords."""
        a, b = self.span[chord].T
        return points_of(self.curves, self.curve[chord], a + fraction * (b - a))


def beside_short_edges(domain: Domain, sizes: Sizes) -> Sizes:
    """Sizes that are not much longer than a straight piece of ∂Ω where that is short: the mesh has to change from one to the other."""
    pieces = [piece for segment in domain.segments for piece in curves_of(segment) if piece.straight]
    if not pieces:
        return sizes
    ends = np.stack([piece.ends for piece in pieces])
    lengths = np.hypot(*(ends[:, 1] - ends[:, 0]).T)
    extent = float(np.ptp(domain.bounds, axis=1).max())
    if lengths.min() < _SHORTEST * extent:
        i = int(np.argmin(lengths))
        raise GeometryError(
            f"the boundary has an edge of length {lengths[i]:.2g} near {np.round(ends[i, 0], 6).tolist()}, too short beside the extent "
            f"{extent:.4g} for elements: join its ends"
        )
    middles = ends.mean(axis=1)
    short = lengths < _SHORT * sizes(middles)
    return sizes.near(middles[short], lengths[short])


def points_of(curves: Sequence[Curve], which: Array, s: Array) -> Array:
    """γ_which(s), (n, 2): one call of every curve."""
    found = np.empty((len(s), 2))
    order = np.argsort(which, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(which[order])) + 1):
        if len(rows):
            found[rows] = curves[which[rows[0]]].point(s[rows])
    return found


def curves_of(segment: Segment) -> Sequence[Curve]:
    """The smooth pieces of a segment; from its outline if it does not know them."""
    return _traced(segment) if segment.curves is None else segment.curves


def _traced(segment: Segment) -> list[Curve]:
    outline = segment.outline(2000)
    parts = np.split(outline, np.flatnonzero(np.isnan(outline).any(axis=1)))
    return [curve for part in parts if len(run := part[~np.isnan(part).any(axis=1)]) > 1 for curve in _smooth(run)]


def _smooth(points: Array) -> list[Curve]:
    """Splines through the points of an outline between its kinks."""
    steps = np.diff(points, axis=0)
    points = points[np.append(True, np.hypot(*steps.T) > 0)]
    steps = np.diff(points, axis=0)
    turn = np.abs(np.angle(np.exp(1j * np.diff(np.angle(steps @ np.array([1, 1j]))))))
    kinks = 1 + np.flatnonzero(turn > _KINK)
    runs = [points[a : b + 1] for a, b in zip([0, *kinks], [*kinks, len(points) - 1], strict=True)]
    return [_spline(run) for run in runs]


def _spline(points: Array) -> Curve:
    length = np.append(0.0, np.cumsum(np.hypot(*np.diff(points, axis=0).T)))
    return Curve(make_interp_spline(length / length[-1], points, k=min(5, len(points) - 1)), straight=len(points) == 2)


def chords_of(domain: Domain, size: Size, turn: float, marked: Array, inner: Sequence[Curve] = ()) -> Chords:
    """∂Ω and ``inner`` curves divided so that chords are at most as long as ``size`` says, and turn by ``turn`` radians at most.

    Straight curves are left whole: who makes the mesh divides them. Chords end at the ``marked`` points (k, 2) of ∂Ω.
    """
    curves: list[Curve] = []
    curve, span, segment, corners = [], [], [], []
    pieces = [(i, piece) for i, own in enumerate(domain.segments) for piece in curves_of(own)]
    for number, piece in [*pieces, *((-1, piece) for piece in inner)]:
        s = breakpoints(piece, size, turn, parameters_of(piece, marked))
        curve += [len(curves)] * (len(s) - 1)
        segment += [number] * (len(s) - 1)
        span.append(np.column_stack([s[:-1], s[1:]]))
        at = piece.point(s)
        corners.append(np.stack([at[:-1], at[1:]], axis=1))
        curves.append(piece)
    points, ends = joined(np.concatenate(corners))
    _check_closed(ends[np.array(segment) >= 0], points)
    chords = Chords(curves, points, ends, np.array(curve), np.concatenate(span), np.array(segment))
    _check_pinched(chords)
    return chords


def joined(ends: Array) -> tuple[Array, Array]:
    """The different points (v, 2) among the ends (c, 2, 2) of chords, and their numbers (c, 2)."""
    flat = ends.reshape(-1, 2)
    near = _MEET * float(np.ptp(flat, axis=0).max())
    first = np.arange(len(flat))
    for a, b in cKDTree(flat).query_pairs(near, output_type="ndarray"):
        first[max(a, b)] = min(first[a], first[b])
    kept, numbers = np.unique(first, return_inverse=True)
    return flat[kept], numbers.reshape(-1, 2)


def _check_closed(ends: Array, points: Array) -> None:
    starts, stops = (np.bincount(ends[:, side], minlength=len(points)) for side in (0, 1))
    if (open_ := starts != stops).any():
        raise GeometryError(
            f"the boundary is not closed near {np.round(points[open_][0], 6).tolist()}: no mesh can be made"
        )


def _check_pinched(chords: Chords) -> None:
    """Refuse points where ∂Ω touches itself tangentially: Netgen would not end."""
    rim = np.flatnonzero(chords.segment >= 0)
    for k in np.flatnonzero(np.bincount(chords.ends[rim, 0], minlength=len(chords.points)) > 1):
        leaving, arriving = (rim[chords.ends[rim, side] == k] for side in (0, 1))
        out = np.array([_tangent(chords, c, 0) for c in leaving])
        back = -np.array([_tangent(chords, c, 1) for c in arriving])
        if (out @ back.T).max() > 1 - 0.5 * _TANGENTIAL**2:
            raise GeometryError(
                f"the boundary touches itself in a cusp at {np.round(chords.points[k], 6).tolist()}: no mesh can be made. Keep its parts "
                "apart, or let them overlap"
            )


def _tangent(chords: Chords, chord: int, end: int) -> Array:
    """The direction of a chord's curve at its first (0) or last (1) point, (2,)."""
    s = chords.span[chord]
    near = s[end] + 1e-6 * (s[1 - end] - s[end])
    p, q = chords.curves[chords.curve[chord]].point(np.array([s[end], near]))
    step = (q - p) * (1 - 2 * end)
    return step / np.hypot(*step)


def parameters_of(curve: Curve, points: Array) -> Array:
    """Parameters (j,) inside (0, 1) of those of the points (k, 2) that lie on the curve, but for its ends."""
    if not len(points):
        return np.zeros(0)
    s = np.linspace(0.0, 1.0, 2 if curve.straight else _LOOKED_AT + 1)
    shape = curve.point(s)
    extent = float(np.ptp(shape, axis=0).max())
    inner = np.hypot(*(points[:, None] - shape[[0, -1]]).T).min(axis=0) > _APART * extent
    points = points[inner]
    if not len(points):
        return np.zeros(0)
    if curve.straight:
        along = shape[1] - shape[0]
        found = (points - shape[0]) @ along / (along @ along)
    else:
        first = np.clip(np.argmin(((points[:, None] - shape) ** 2).sum(axis=2), axis=1), 1, len(s) - 2)
        found = np.array([_closest(curve, p, s[i - 1], s[i + 1]) for p, i in zip(points, first, strict=True)])
    inside = (found > 0.0) & (found < 1.0)
    inside[inside] = np.hypot(*(curve.point(found[inside]) - points[inside]).T) <= _APART * extent
    return np.unique(found[inside])


def _closest(curve: Curve, point: Array, low: float, high: float) -> float:
    def distance(s: float) -> float:
        return float(((curve.point(np.array([s]))[0] - point) ** 2).sum())

    s = float(minimize_scalar(distance, bounds=(low, high), method="bounded", options={"xatol": 1e-14}).x)
    for _ in range(3):  # a minimum is found to half the digits, a point with nothing left along the curve to all
        a, b = max(s - 1e-6, low), min(s + 1e-6, high)
        before, here, after = curve.point(np.array([a, s, b]))
        velocity = (after - before) / (b - a)
        s = float(np.clip(s + (point - here) @ velocity / max(velocity @ velocity, 1e-300), low, high))
    return s


def breakpoints(curve: Curve, size: Size, turn: float, fixed: Array) -> Array:
    """Parameters 0 = s_0 < … < s_n = 1, ``fixed`` ones (j,) among them."""
    if curve.straight:
        return np.concatenate([[0.0], fixed, [1.0]])
    count = _LOOKED_AT
    while True:
        s = np.linspace(0.0, 1.0, count + 1)
        points = curve.point(s)
        steps = np.diff(points, axis=0)
        turns = np.abs(np.angle(np.exp(1j * np.diff(np.angle(steps @ np.array([1, 1j]))))))
        if turns.max(initial=0.0) < turn / 3 or count >= 64 * _LOOKED_AT:
            break
        count *= 4
    per_step = 0.5 * (np.append(turns, turns[-1]) + np.append(turns[0], turns)) / turn
    lengths = np.hypot(*steps.T)
    needed = np.maximum(per_step, lengths / size(0.5 * (points[1:] + points[:-1])))
    total = np.append(0.0, np.cumsum(needed))
    closed = bool(np.hypot(*(points[-1] - points[0])) <= _MEET * lengths.sum())
    fewest = 4 if closed else 1
    parts = [np.zeros(1)]
    for a, b in pairwise(np.interp([0.0, *fixed, 1.0], s, total)):
        n = max(fewest, math.ceil(b - a))
        parts.append(np.interp(a + np.arange(1, n + 1) * (b - a) / n, total, s))
    found = np.concatenate(parts)
    found[np.searchsorted(found, fixed - 1e-12)] = fixed
    found[-1] = 1.0
    return found
