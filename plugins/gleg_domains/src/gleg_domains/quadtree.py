"""Quadrature of polygons with many edges: few large cells inside, small ones along the boundary.

One slab per vertex would give every short edge a full-width strip of nodes. Instead the bounding box is divided like a quadtree;
whether a cell is divided is decided by counting: its own slab rule, or its children's rules, whichever has fewer nodes.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import shapely

from gleg_core.contracts.domain import Quadrature
from gleg_domains.gauss import count_for, legendre
from gleg_domains.pieces import paired
from gleg_domains.slabs import lines_rule

Array = np.ndarray
_DEEPEST = 12


def quadtree_rule(shape: shapely.Polygon, wavenumber: float, tolerance: float) -> Quadrature:
    box = np.array(shape.bounds).reshape(2, 2)
    cells = _Tree(wavenumber, tolerance * shape.area).best(shape, box, 0)
    rules = [cell.rule() for cell in cells]
    return Quadrature(np.concatenate([r.points for r in rules]), np.concatenate([r.weights for r in rules]))


@dataclass(frozen=True, eq=False)
class _Lines:
    """Lines of nodes: ``ends`` (n, 2) at heights y with weights w and ``counts`` nodes, each (n,); ``swap``: x and y change places."""

    ends: Array
    y: Array
    w: Array
    counts: Array
    swap: bool

    @cached_property
    def nodes(self) -> int:
        return int(self.counts.sum())

    def rule(self) -> Quadrature:
        rule = lines_rule(self.ends, self.y, self.w, self.counts)
        return Quadrature(rule.points[:, ::-1] if self.swap else rule.points, rule.weights)


class _Tree:
    def __init__(self, wavenumber: float, error: float):
        self._wavenumber, self._error = wavenumber, error

    def best(self, shape: shapely.Geometry, box: Array, depth: int) -> list[_Lines]:
        """The cheaper of the cell's own lines and those of its four quarters."""
        polygons = [p for p in shapely.get_parts(shape) if isinstance(p, shapely.Polygon) and p.area > 0]
        corners = sum(shapely.get_num_coordinates(p) - 1 - len(p.interiors) for p in polygons)
        own = [self.trapezoids(p) for p in polygons]
        nodes = sum(lines.nodes for lines in own)
        if depth >= _DEEPEST or corners <= 5 or nodes <= 64:
            return own
        (x0, y0), (x1, y1) = box
        xm, ym = 0.5 * (x0 + x1), 0.5 * (y0 + y1)
        divided: list[_Lines] = []
        for quarter in ((x0, y0, xm, ym), (xm, y0, x1, ym), (x0, ym, xm, y1), (xm, ym, x1, y1)):
            part = shapely.intersection(shape, shapely.box(*quarter))
            if not part.is_empty and part.area > 0:
                divided += self.best(part, np.array(quarter).reshape(2, 2), depth + 1)
        return divided if sum(lines.nodes for lines in divided) < nodes else own

    def trapezoids(self, polygon: shapely.Polygon) -> _Lines:
        """Slab rule of a polygon: trapezoids between edges, in the direction with fewer nodes."""
        loops = [np.array(ring.coords)[:-1] for ring in (polygon.exterior, *polygon.interiors)]
        both = (self._horizontal([loop[:, ::-1] if swap else loop for loop in loops], swap) for swap in (False, True))
        return min(both, key=lambda lines: lines.nodes)

    def _horizontal(self, loops: list[Array], swap: bool) -> _Lines:
        """Gauss × Gauss in every trapezoid; the phase along a straight line in it is linear, so node counts follow from lengths."""
        ends, heights = _sweep(loops)
        widths = np.maximum(ends[:, 1] - ends[:, 0], 0.0)
        height = heights[:, 1] - heights[:, 0]
        area = 0.5 * height * widths.sum(axis=1)
        ends, heights, height, area = (values[area > 0] for values in (ends, heights, height, area))
        tolerance = self._error / area
        lean = np.abs(ends[..., 1] - ends[..., 0]).max(axis=1)
        n = 1 + count_for(0.5 * self._wavenumber * np.hypot(height, lean), tolerance)
        rules = [legendre(int(k)) for k in n]
        u, w = (np.concatenate([np.zeros(0), *parts]) for parts in ([r[0] for r in rules], [r[1] for r in rules]))
        of = np.repeat(np.arange(len(n)), n)
        x = ends[of, :, 0] + (ends[of, :, 1] - ends[of, :, 0]) * u[:, None]
        counts = count_for(0.5 * self._wavenumber * (x[:, 1] - x[:, 0]), tolerance[of])
        return _Lines(x, heights[of, 0] + height[of] * u, height[of] * w, counts, swap)


def _sweep(loops: list[Array]) -> tuple[Array, Array]:
    """Trapezoids between two edges: x (k, 2, 2) of the left and the right edge at the lower and the upper height, (k, 2)."""
    start = np.concatenate(loops)
    stop = np.concatenate([np.roll(loop, -1, axis=0) for loop in loops])
    flip = start[:, 1] > stop[:, 1]
    low, high = np.where(flip[:, None], stop, start), np.where(flip[:, None], start, stop)
    steep = high[:, 1] > low[:, 1]
    low, high = low[steep], high[steep]
    levels = np.unique(start[:, 1])
    orders = []
    for middle in 0.5 * (levels[:-1] + levels[1:]):
        alive = np.nonzero((low[:, 1] < middle) & (high[:, 1] > middle))[0]
        orders.append(alive[np.argsort(_x(low[alive], high[alive], middle))].tolist())
    trapezoids = paired(levels, orders)
    edges = np.array([pair for pair, _, _ in trapezoids], dtype=int).reshape(-1, 2, 1)
    heights = np.array([span for _, *span in trapezoids]).reshape(-1, 2)
    return _x(low[edges], high[edges], heights[:, None, :]), heights


def _x(low: Array, high: Array, y: Array | float) -> Array:
    fraction = (y - low[..., 1]) / (high[..., 1] - low[..., 1])
    return low[..., 0] * (1 - fraction) + high[..., 0] * fraction
