"""Lagrange functions on a division of an interval."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from gleg_basis_elements.reference import element, rule
from gleg_basis_elements.sizes import Sizes
from gleg_core.contracts.domain import Domain
from gleg_core.contracts.local_basis import Cells, EdgeCells

Array = np.ndarray
_MORE = 2


def divided(domain: Domain, sizes: Sizes, fixed: Sequence[float] = ()) -> Array:
    """Points (V,) from end to end, distances as wanted; ``fixed`` ones among them."""
    low, high = domain.bounds[0]
    stops = np.unique(np.clip([low, *fixed, high], low, high))
    parts = []
    for a, b in pairwise(stops):
        # x where the sizes may change: spread evenly, and ever closer to the places that ask for small ones
        spread = np.linspace(a, b, 400)
        close = (
            sizes.places + sizes.largest * np.append(0.0, np.outer([-1, 1], 2.0 ** -np.arange(0, 40, 0.25)).ravel())
        ).ravel()
        x = np.unique(np.clip(np.concatenate([spread, close]), a, b))
        cost = np.append(0.0, np.cumsum(np.diff(x) / sizes(0.5 * (x[1:] + x[:-1])[:, None])))
        n = max(1, int(np.ceil(cost[-1])))
        parts.append(np.interp(np.arange(n) * cost[-1] / n, cost, x))
    return np.append(np.concatenate(parts), high)


class Intervals:
    """Functions of degree ``order`` between points, numbered: points, then interiors."""

    dim = 1

    def __init__(self, points: Array, order: int, domain: Domain):
        self.order, self.element, self._points = order, element(1, order), points
        self._segments = domain.segments
        E = len(points) - 1
        inside = E + 1 + np.arange(E * (order - 1)).reshape(E, order - 1)
        ends = np.column_stack([np.arange(E), np.arange(1, E + 1)])
        self.functions = np.concatenate([ends, inside], axis=1)
        self.size = E + 1 + E * (order - 1)

    def cells(self) -> list[tuple[Cells, Array]]:
        q = rule(1, 2 * self.order + _MORE)
        h = self.diameters()[:, None]
        x = self._points[:-1, None] + h * q.points[:, 0]
        values, slopes = self.element.values(q.points), self.element.slopes(q.points)
        cells = Cells(self.functions, values, slopes, (1 / h)[..., None, None], x[..., None], h * q.weights)
        return [(cells, np.arange(len(h)))]

    def edge_cells(self) -> list[EdgeCells]:
        found = []
        for segment in self._segments:
            sample = segment.sample(1)
            end = int(np.argmin(np.abs(self._points - sample.points[0, 0])))
            found.append(
                EdgeCells(
                    segment.name,
                    np.array([[end]]),
                    np.ones((1, 1)),
                    sample.points[None],
                    sample.normals[None],
                    np.ones((1, 1)),
                )
            )
        return found

    def inner_nodes(self) -> tuple[Array, Array]:
        """Nodes inside the cells, (E, m, 1), and the functions that interpolate there at the nodes of the rule, (q, m)."""
        xi, table = self.element.inner(rule(1, 2 * self.order + _MORE).points)
        return (self._points[:-1, None] + self.diameters()[:, None] * xi[:, 0])[..., None], table

    def diameters(self) -> Array:
        return np.diff(self._points)

    @property
    def centres(self) -> Array:
        return 0.5 * (self._points[1:] + self._points[:-1])[:, None]

    def locate(self, points: Array) -> tuple[Array, Array]:
        cell = np.clip(np.searchsorted(self._points, points[:, 0], side="right") - 1, 0, len(self._points) - 2)
        return cell, (points - self._points[cell, None]) / self.diameters()[cell, None]

    def inverse(self, cells: Array, xi: Array) -> Array:
        return (1 / self.diameters()[cells])[:, None, None]
