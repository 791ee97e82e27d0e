"""Interfaces: curves inside Ω where a function of place is zero, for meshes that follow them.

They are found as contours on a grid and lie on the zeros of the function themselves: a point of the curve is that of the contour, moved
along the gradient. A curve ends on ∂Ω or closes; where it has a kink it is cut.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import contourpy
import numpy as np
import shapely
from scipy.spatial import cKDTree

from gleg_basis_elements.boundary import curves_of
from gleg_core.contracts.domain import Curve, Domain, RoughPoint

Array = np.ndarray
Level = Callable[[Array], Array]
_GRID = 400
"""Cells of the grid along the longer side of the domain, and points of a boundary curve."""
_KINK = np.radians(25.0)
"""Angle between neighbouring pieces of a contour that is a corner."""
_NONE = np.zeros(0, dtype=int)
ROUGH = 0.5
"""Exponent assumed at kinks, and where an interface meets ∂Ω."""


@dataclass(frozen=True)
class Interfaces:
    """``curves`` inside Ω, and ``rough`` points of theirs where solutions are not smooth."""

    curves: tuple[Curve, ...]
    rough: tuple[RoughPoint, ...]


def interfaces_of(domain: Domain, levels: Sequence[Level]) -> Interfaces:
    """The curves in Ω on which any of the functions is zero."""
    low, high = domain.bounds.T
    extent = float((high - low).max())
    runs: list[tuple[Level, Array]] = []
    known: list[Array] = []
    rough: list[RoughPoint] = []
    for level in levels:
        ends = _on_boundary(domain, level)
        for contour in _contours(level, low, high, extent / _GRID):
            for run in _inside(domain, contour, ends, 3 * extent / _GRID):
                run, corners = _cornered(run)
                for k in corners:
                    run[k] = _snapped(run[k], known, 0.5 * extent / _GRID)
                runs += [(level, piece) for piece in _cut(run, corners)]
                rough += [RoughPoint(run[k], ROUGH, "an interface has a corner") for k in corners]
        rough += [RoughPoint(p, ROUGH, "an interface meets the boundary") for p in ends]
    runs, crossings = _crossed(runs, extent)
    rough += [RoughPoint(p, ROUGH, "interfaces cross") for p in crossings]
    return Interfaces(tuple(_curve(level, run, extent) for level, run in runs), tuple(rough))


def zeros_of(domain: Domain, levels: Sequence[Level]) -> list[float]:
    """The same on an interval."""
    low, high = domain.bounds[0]
    x = np.linspace(low, high, 50 * _GRID + 1)
    return [zero for level in levels for zero in _changes(lambda s: s[:, None], level, x)]


def _snapped(point: Array, known: list[Array], near: float) -> Array:
    """One of the known points if it is near, else the point itself, known from now on."""
    for other in known:
        if np.hypot(*(other - point)) <= near:
            return other
    known.append(point)
    return point


def _cut(run: Array, at: Sequence[int]) -> list[Array]:
    """Parts of a polyline between some of its points."""
    return [run[a : b + 1] for a, b in pairwise([0, *at, len(run) - 1]) if b > a]


def _crossed(runs: list[tuple[Level, Array]], extent: float) -> tuple[list[tuple[Level, Array]], list[Array]]:
    """Polylines cut where they cross each other, and the crossings."""
    lines = [shapely.LineString(run) for _, run in runs]
    first, second = shapely.STRtree(lines).query(lines, predicate="crosses") if len(lines) > 1 else (_NONE, _NONE)
    points: list[Array] = []
    at: list[list[int]] = [[] for _ in runs]
    for i, j in zip(first.tolist(), second.tolist(), strict=True):
        if i < j:
            shape = lines[i].intersection(lines[j])
            for place in getattr(shape, "geoms", [shape]):
                p = _meeting(runs[i][0], runs[j][0], np.array(place.coords[0]), extent)
                near = [k for k, q in enumerate(points) if np.hypot(*(p - q)) < 1e-6 * extent]
                points += [] if near else [p]
                for line in (i, j):
                    at[line].append(near[0] if near else len(points) - 1)
    parts = []
    for (level, run), line, crossings in zip(runs, lines, at, strict=True):
        places = [(line.project(shapely.Point(points[k])), points[k]) for k in dict.fromkeys(crossings)]
        lengths = np.append(0.0, np.cumsum(np.hypot(*np.diff(run, axis=0).T)))
        step = extent / _GRID
        kept = np.array([all(abs(length - place) > 0.5 * step for place, _ in places) for length in lengths])
        kept[[0, -1]] = True
        order = np.argsort(np.append(lengths[kept], [place for place, _ in places]), kind="stable")
        merged = np.concatenate([run[kept], *(p[None] for _, p in places)])[order]
        parts += [(level, piece) for piece in _cut(merged, np.flatnonzero(order >= kept.sum()).tolist())]
    return parts, points


def _meeting(one: Level, other: Level, guess: Array, extent: float) -> Array:
    """Where both functions are zero, by Newton's method; the guess if that leads far away."""
    h, p = 1e-6 * extent, guess.copy()
    for _ in range(8):
        slopes = np.array(
            [[(f((p + e)[None]) - f((p - e)[None]))[0] / (2 * h) for e in h * np.eye(2)] for f in (one, other)]
        )
        if abs(np.linalg.det(slopes)) < 1e-12 * np.prod(np.linalg.norm(slopes, axis=1) + 1e-300):
            return guess
        p = p - np.linalg.solve(slopes, np.array([f(p[None])[0] for f in (one, other)]))
    return p if np.hypot(*(p - guess)) < 2 * extent / _GRID else guess


def _on_boundary(domain: Domain, level: Level) -> Array:
    """Where the function changes its sign along ∂Ω, (k, 2)."""
    s = np.linspace(0.0, 1.0, _GRID + 1)
    curves = [curve for segment in domain.segments for curve in curves_of(segment)]
    found = [curve.point(np.array([zero]))[0] for curve in curves for zero in _changes(curve.point, level, s)]
    return np.array(found).reshape(-1, 2)


def _changes(point: Callable[[Array], Array], level: Level, s: Array) -> list[float]:
    """Parameters at which the function changes its sign along a curve, between neighbours of s."""
    sign, found = level(point(s)) > 0, []
    for i in np.flatnonzero(sign[1:] != sign[:-1]):
        a, b = s[i], s[i + 1]
        for _ in range(60):
            middle = 0.5 * (a + b)
            a, b = (middle, b) if bool(level(point(np.array([middle])))[0] > 0) == sign[i] else (a, middle)
        found.append(float(0.5 * (a + b)))
    return found


def _contours(level: Level, low: Array, high: Array, step: float) -> list[Array]:
    """Polylines (n, 2) near the zeros, on a grid that reaches a little beyond the box."""
    x, y = (np.arange(a - 2.618 * step, b + 3 * step, step) for a, b in zip(low, high, strict=True))
    values = level(np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)).reshape(len(y), len(x))
    lines = contourpy.contour_generator(x, y, values).lines(0.0)
    return [np.asarray(line) for line in lines if len(line) > 2]


def _inside(domain: Domain, contour: Array, ends: Array, near: float) -> list[Array]:
    """The parts of a contour in Ω, from end to end on ∂Ω, or the whole of a closed one."""
    around = 0.05 * near * np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])  # what lies on ∂Ω is none
    inside = np.all([domain.contains(contour + step) for step in around], axis=0)
    if inside.all():
        return [contour] if np.hypot(*(contour[0] - contour[-1])) <= near else []
    if not inside.any() or not len(ends):
        return []
    closed = np.hypot(*(contour[0] - contour[-1])) < 1e-12 * near + 1e-300
    if closed:  # begin outside
        start = int(np.argmin(inside))
        contour, inside = np.roll(contour[:-1], -start, axis=0), np.roll(inside[:-1], -start)
    tree = cKDTree(ends)
    runs = []
    for rows in np.split(np.arange(len(contour)), np.flatnonzero(inside[1:] != inside[:-1]) + 1):
        if not inside[rows[0]]:
            continue
        run = contour[rows]
        gaps, which = tree.query(run[[0, -1]])
        if (gaps > near).any() or (which[0] == which[1] and len(run) < 4):
            continue
        first, last = ends[which]
        far = (np.hypot(*(run - first).T) > 0.2 * near) & (np.hypot(*(run - last).T) > 0.2 * near)
        runs.append(np.concatenate([[first], run[far], [last]]))
    return runs


def _turns(run: Array) -> Array:
    """Angles between neighbouring pieces of a polyline (n, 2): (n − 2,)."""
    steps = np.diff(run, axis=0) @ np.array([1, 1j])
    return np.abs(np.angle(np.exp(1j * np.diff(np.angle(steps)))))


def _cornered(run: Array) -> tuple[Array, list[int]]:
    """The polyline with its corners, which a contour cuts off, put back, and their numbers: where the lines before and after meet."""
    if (run[0] == run[-1]).all():  # a closed one begins as far from its corners as it can
        ring = run[:-1]
        far = 1 + np.flatnonzero(_turns(np.concatenate([ring, ring[:2]])) > _KINK)
        if len(far):
            gaps = np.diff(np.append(far, far[0] + len(ring)))
            ring = np.roll(ring, -(far[np.argmax(gaps)] + gaps.max() // 2), axis=0)
        run = np.concatenate([ring, ring[:1]])
    found = 1 + np.flatnonzero(_turns(run) > _KINK)
    groups = np.split(found, np.flatnonzero(np.diff(found) > 3) + 1) if len(found) else []
    parts, corners, start = [], [], 0
    for group in groups:
        a, b = group[0] - 1, group[-1] + 1
        if a < 1 or b > len(run) - 2:
            continue
        before, after = run[a] - run[a - 1], run[b + 1] - run[b]
        matrix = np.column_stack([before, -after])
        if abs(np.linalg.det(matrix)) < 1e-9 * np.hypot(*before) * np.hypot(*after):
            continue
        corner = run[a] + before * np.linalg.solve(matrix, run[b] - run[a])[0]
        if np.hypot(*(corner - run[group[0]])) > 3 * max(np.hypot(*(run[b] - run[a])), np.hypot(*before)):
            continue
        parts += [run[start : a + 1], corner[None]]
        corners.append(sum(map(len, parts)) - 1)
        start = b
    return np.concatenate([*parts, run[start:]]), corners


def _curve(level: Level, points: Array, extent: float) -> Curve:
    """The zeros of the function along a polyline; its ends stay."""
    a, b = points[0], points[-1]
    lengths = np.append(0.0, np.cumsum(np.hypot(*np.diff(points, axis=0).T)))
    along = lengths / lengths[-1]
    closed = bool(np.hypot(*(a - b)) <= 1e-12 * extent)
    if not closed:
        chord = (b - a) / np.hypot(*(b - a))
        offset = (points - a) @ np.array([-chord[1], chord[0]])
        if (
            np.abs(_projected(level, points, extent) - points).max() < 1e-12 * extent
            and np.abs(offset).max() < 1e-12 * extent
        ):
            return Curve(lambda s: a + np.multiply.outer(s, b - a), straight=True)

    def point(s: Array) -> Array:
        guess = np.column_stack([np.interp(s, along, points[:, i]) for i in (0, 1)])
        found = _projected(level, guess, extent)
        if not closed:
            found[s <= 0.0], found[s >= 1.0] = a, b
        else:
            found[(s <= 0.0) | (s >= 1.0)] = _projected(level, a[None], extent)[0]
        return found

    return Curve(point)


def _projected(level: Level, points: Array, extent: float) -> Array:
    """Points moved along the gradient to where the function is zero, by Newton's method."""
    h = 1e-6 * extent
    found = points.copy()
    for _ in range(6):
        value = level(found)
        slope = np.column_stack([level(found + e) - level(found - e) for e in h * np.eye(2)]) / (2 * h)
        size = (slope**2).sum(axis=1)
        step = np.where(size > 0, value / np.where(size > 0, size, 1.0), 0.0)[:, None] * slope
        length = np.hypot(*step.T)[:, None]
        found -= step * np.minimum(1.0, 4 * extent / _GRID / np.maximum(length, 1e-300))
    return found
