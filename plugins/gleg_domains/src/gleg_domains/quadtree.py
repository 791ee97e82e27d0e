"""Quadrature of polygons with many edges: few large cells inside, small ones along the boundary.

One slab per vertex would give every short edge a full-width strip of nodes. Instead the bounding box is divided like a quadtree;
whether a cell is divided is decided by counting: its own slab rule, or its children's rules, whichever has fewer nodes.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import shapely
from shapely.geometry.polygon import orient

from gleg_core.contracts.domain import Quadrature
from gleg_domains.gauss import count_for, legendre

Array = np.ndarray
_DEEPEST = 12


def quadtree_rule(shape: shapely.Polygon, wavenumber: float, tolerance: float) -> Quadrature:
    box = np.array(shape.bounds).reshape(2, 2)
    return _Tree(wavenumber, tolerance * shape.area).best(shape, box, 0)


class _Tree:
    def __init__(self, wavenumber: float, error: float):
        self._wavenumber, self._error = wavenumber, error

    def best(self, shape: shapely.Geometry, box: Array, depth: int) -> Quadrature:
        """The cheaper of the cell's own rule and the rules of its four quarters."""
        polygons = _polygons(shape)
        corners = sum(shapely.get_num_coordinates(p) - 1 - len(p.interiors) for p in polygons)
        own = joined([self.trapezoids(p) for p in polygons])
        if depth >= _DEEPEST or corners <= 5 or len(own.weights) <= 64:
            return own
        (x0, y0), (x1, y1) = box
        xm, ym = 0.5 * (x0 + x1), 0.5 * (y0 + y1)
        quarters = []
        for quarter in ((x0, y0, xm, ym), (xm, y0, x1, ym), (x0, ym, xm, y1), (xm, ym, x1, y1)):
            part = shapely.intersection(shape, shapely.box(*quarter))
            if not part.is_empty and part.area > 0:
                quarters.append(self.best(part, np.array(quarter).reshape(2, 2), depth + 1))
        divided = joined(quarters)
        return divided if len(divided.weights) < len(own.weights) else own

    def trapezoids(self, polygon: shapely.Polygon) -> Quadrature:
        """Slab rule of a polygon: trapezoids between edges, in the direction with fewer nodes."""
        rules = []
        for swap in (False, True):
            loops = [np.array(r.coords)[:-1, ::-1] if swap else np.array(r.coords)[:-1] for r in _rings(polygon)]
            rule = self._horizontal(loops)
            rules.append(Quadrature(rule.points[:, ::-1] if swap else rule.points, rule.weights))
        return min(rules, key=lambda r: len(r.weights))

    def _horizontal(self, loops: list[Array]) -> Quadrature:
        start = np.concatenate(loops)
        stop = np.concatenate([np.roll(loop, -1, axis=0) for loop in loops])
        flip = start[:, 1] > stop[:, 1]
        low, high = np.where(flip[:, None], stop, start), np.where(flip[:, None], start, stop)
        steep = high[:, 1] > low[:, 1]
        low, high = low[steep], high[steep]
        levels = np.unique(start[:, 1])
        trapezoids: dict[tuple[int, int], tuple[float, float]] = {}
        done: list[tuple[tuple[int, int], float, float]] = []
        for bottom, top in pairwise(levels):
            middle = 0.5 * (bottom + top)
            alive = np.nonzero((low[:, 1] < middle) & (high[:, 1] > middle))[0]
            order = [int(i) for i in alive[np.argsort(_x(low[alive], high[alive], middle))]]
            pairs = list(zip(order[::2], order[1::2], strict=False))
            for pair in [p for p in trapezoids if p not in pairs]:
                done.append((pair, *trapezoids.pop(pair)))
            for pair in pairs:
                trapezoids[pair] = (trapezoids.get(pair, (bottom, top))[0], top)
        done += [(pair, *span) for pair, span in trapezoids.items()]
        return joined([self._trapezoid(low, high, *item) for item in done])

    def _trapezoid(self, low: Array, high: Array, pair: tuple[int, int], a: float, b: float) -> Quadrature:
        """Gauss × Gauss; the phase along any straight line through it is linear, so node counts follow from lengths."""
        ends = np.array([[_x(low[i], high[i], y) for y in (a, b)] for i in pair])
        widths = np.maximum(ends[1] - ends[0], 0.0)
        area = 0.5 * (b - a) * widths.sum()
        if area <= 0:
            return Quadrature(np.zeros((0, 2)), np.zeros(0))
        tolerance = max(1e-15, min(0.1, self._error / area))
        lean = np.abs(ends[:, 1] - ends[:, 0]).max()
        n = 1 + int(count_for(np.array([0.5 * self._wavenumber * np.hypot(b - a, lean)]), tolerance)[0])
        u, w = legendre(n)
        x_left, x_right = ends[0, 0] + (ends[0, 1] - ends[0, 0]) * u, ends[1, 0] + (ends[1, 1] - ends[1, 0]) * u
        width = x_right - x_left
        counts = count_for(0.5 * self._wavenumber * width, tolerance)
        points, weights = [], []
        for m in np.unique(counts):
            rows = counts == m
            t, v = legendre(int(m))
            points.append(
                np.column_stack(
                    [(x_left[rows, None] + width[rows, None] * t).ravel(), np.repeat(a + (b - a) * u[rows], m)]
                )
            )
            weights.append(((b - a) * w[rows, None] * width[rows, None] * v).ravel())
        return Quadrature(np.concatenate(points), np.concatenate(weights))


def _x(low: Array, high: Array, y: float) -> Array:
    fraction = (y - low[..., 1]) / (high[..., 1] - low[..., 1])
    return low[..., 0] * (1 - fraction) + high[..., 0] * fraction


def _rings(polygon: shapely.Polygon) -> list[shapely.LinearRing]:
    turned = orient(polygon)
    return [turned.exterior, *turned.interiors]


def _polygons(shape: shapely.Geometry) -> list[shapely.Polygon]:
    return [p for p in shapely.get_parts(shape) if isinstance(p, shapely.Polygon) and p.area > 0]


def joined(rules: list[Quadrature]) -> Quadrature:
    if not rules:
        return Quadrature(np.zeros((0, 2)), np.zeros(0))
    rules = [r for r in rules if len(r.weights)] or rules[:1]
    return Quadrature(np.concatenate([r.points for r in rules]), np.concatenate([r.weights for r in rules]))
