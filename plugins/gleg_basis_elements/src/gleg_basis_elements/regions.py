"""Edges of regions inside Ω, for meshes that follow them: the curves of the regions themselves, cut where they meet ∂Ω, interfaces or
each other. Edges that lie on ∂Ω are left out, and those that two regions share are there once."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import shapely

from gleg_basis_elements.boundary import curves_of, joined, parameters_of
from gleg_basis_elements.interfaces import ROUGH, Interfaces
from gleg_core.contracts.domain import Curve, Domain, RoughPoint

Array = np.ndarray
_CHORDS = 400
"""Of a curve, that tell where it may meet others; it is closer to them than a tenth of their length."""
_BESIDE = 1e-7
"""Distance, in units of the domain's extent, of points that tell on which sides of a curve Ω is."""
_APART = 1e-7
"""Least difference of the parameters of two cuts."""
_PARALLEL = 1e-6
"""Sine of the angle below which curves touch or coincide and do not cross."""
_STRAIGHT_ON = 1e-4
"""Edges that turn by less, in radians, have no corner."""
_INNER = np.array([0.31, 0.5, 0.73])
"""Where a piece is looked at."""


def with_regions(domain: Domain, found: Interfaces, regions: Sequence[Domain]) -> Interfaces:
    """The interfaces, and the edges of regions in Ω with the points of theirs where solutions are not smooth."""
    if not regions:
        return found
    rim = [curve for segment in domain.segments for curve in curves_of(segment)]
    edges = [curve for region in regions for segment in region.segments for curve in curves_of(segment)]
    curves = [*found.curves, *edges]
    cuts = _meetings([*curves, *rim])
    near = _BESIDE * float(np.ptp(domain.bounds, axis=1).max())
    pieces = [_part(curve, a, b) for curve, at in zip(curves, cuts, strict=False) for a, b in pairwise(at)]
    pieces = _different([piece for piece in pieces if _inside(domain, piece, near)])
    return Interfaces(tuple(pieces), (*found.rough, *_rough(domain, pieces, near)))


def _part(curve: Curve, a: float, b: float) -> Curve:
    if (a, b) == (0.0, 1.0):
        return curve
    velocity = curve.velocity
    return Curve(
        lambda s: curve.point(a + (b - a) * s),
        curve.straight,
        None if velocity is None else lambda s: (b - a) * velocity(a + (b - a) * s),
    )


def _meetings(curves: Sequence[Curve]) -> list[Array]:
    """The parameters 0 = s_0 < … < s_n = 1 of every curve at which it meets others: crossings, and ends that lie on it."""
    lines = [curve.point(np.linspace(0.0, 1.0, _count(curve) + 1)) for curve in curves]
    chords = shapely.linestrings(np.concatenate([np.stack([line[:-1], line[1:]], axis=1) for line in lines]))
    owner = np.repeat(np.arange(len(curves)), [_count(curve) for curve in curves])
    middle = np.concatenate([(np.arange(_count(curve)) + 0.5) / _count(curve) for curve in curves])
    tree, reach = shapely.STRtree(chords), 0.1 * shapely.length(chords)
    found: list[list[float]] = [[0.0, 1.0] for _ in curves]
    pairs = np.sort(tree.query(chords, predicate="dwithin", distance=reach).T, axis=1)
    for k, m in np.unique(pairs[owner[pairs[:, 0]] != owner[pairs[:, 1]]], axis=0).tolist():
        i, j = owner[k], owner[m]
        if (at := _crossing(curves[i], curves[j], middle[k], middle[m])) is not None:
            found[i].append(at[0])
            found[j].append(at[1])
    ends = np.concatenate([line[[0, -1]] for line in lines])
    which, chord = tree.query(shapely.points(ends), predicate="dwithin", distance=float(reach.max()))
    for i in np.unique(owner[chord]).tolist():
        found[i] += parameters_of(curves[i], ends[np.unique(which[owner[chord] == i])]).tolist()
    return [_distinct(np.array(at)) for at in found]


def _count(curve: Curve) -> int:
    return 1 if curve.straight else _CHORDS


def _distinct(parameters: Array) -> Array:
    """Sorted, without repeats; 0 and 1 stay."""
    inner = np.unique(parameters[(parameters > _APART) & (parameters < 1 - _APART)])
    return np.concatenate([[0.0], inner[np.diff(inner, prepend=0.0) > _APART], [1.0]])


def _crossing(one: Curve, other: Curve, s: float, t: float) -> tuple[float, float] | None:
    """The parameters at which two curves cross, by Newton's method; None where they do not, or are parallel."""
    for _ in range(30):
        p, q = one.point(np.array([s]))[0], other.point(np.array([t]))[0]
        matrix = np.column_stack([_velocity(one, s), -_velocity(other, t)])
        sizes = np.hypot(*matrix)
        if abs(np.linalg.det(matrix)) <= _PARALLEL * sizes.prod():
            return None
        if np.hypot(*(q - p)) <= 1e-14 * (sizes.sum() + np.abs(p).max()):
            return s, t
        step = np.linalg.solve(matrix, q - p)
        new = float(np.clip(s + step[0], 0.0, 1.0)), float(np.clip(t + step[1], 0.0, 1.0))
        if abs(new[0] - s) + abs(new[1] - t) < 1e-15:
            break
        s, t = new
    gap = np.hypot(*(one.point(np.array([s])) - other.point(np.array([t])))[0])
    return (s, t) if gap <= 1e-11 * sizes.sum() else None


def _velocity(curve: Curve, s: float) -> Array:
    if curve.velocity is not None:
        return curve.velocity(np.array([s]))[0]
    a, b = max(s - 1e-6, 0.0), min(s + 1e-6, 1.0)
    p, q = curve.point(np.array([a, b]))
    return (q - p) / (b - a)


def _inside(domain: Domain, piece: Curve, near: float) -> bool:
    """Is Ω on both sides of a piece that does not cross ∂Ω?"""
    velocity = np.stack([_velocity(piece, s) for s in _INNER])
    speed = np.hypot(*velocity.T)[:, None]
    aside = np.minimum(near / speed, 1e-3) * velocity[:, ::-1] * [1.0, -1.0]
    points = piece.point(_INNER)
    return int((domain.contains(points + aside) & domain.contains(points - aside)).sum()) >= 2


def _different(pieces: Sequence[Curve]) -> list[Curve]:
    """The pieces without those that run along another one between the same ends."""
    if not pieces:
        return []
    kept: list[Curve] = []
    lines: dict[tuple[int, ...], list[shapely.LineString]] = {}
    for piece, ends in zip(pieces, np.sort(joined(np.stack([p.ends for p in pieces]))[1]).tolist(), strict=True):
        line = shapely.LineString(piece.point(np.linspace(0.0, 1.0, 2 if piece.straight else 65)))
        same = lines.setdefault(tuple(ends), [])
        inner = shapely.points(piece.point(_INNER))
        if not any((shapely.distance(other, inner) < 1e-3 * line.length).all() for other in same):
            kept.append(piece)
            same.append(line)
    return kept


def _rough(domain: Domain, pieces: Sequence[Curve], near: float) -> Iterator[RoughPoint]:
    """Where edges meet ∂Ω or each other, and their corners: at one that turns by δ solutions behave like r^λ, λ = π/(π + δ) at worst."""
    if not pieces:
        return
    points, numbers = joined(np.stack([piece.ends for piece in pieces]))
    away: dict[int, list[Array]] = {}
    for piece, (a, b) in zip(pieces, numbers.tolist(), strict=True):
        away.setdefault(a, []).append(piece.direction(0.0))
        away.setdefault(b, []).append(-piece.direction(1.0))
    around = near * np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    within = np.all([domain.contains(points + step) for step in around], axis=0)
    for k, directions in away.items():
        if not within[k]:
            yield RoughPoint(points[k], ROUGH, "an interface meets the boundary")
        elif len(directions) > 2:
            yield RoughPoint(points[k], ROUGH, "interfaces cross")
        elif len(directions) == 2:
            turn = math.pi - math.acos(np.clip(directions[0] @ directions[1], -1.0, 1.0))
            if turn > _STRAIGHT_ON:
                yield RoughPoint(points[k], math.pi / (math.pi + turn), "an interface has a corner")
