"""The reference simplex: Lagrange functions at Gauss–Lobatto–Legendre points, and quadrature rules. basix makes them.

Vertices are numbered in ascending order of their global numbers on every cell, so that neighbours run through a shared edge in one
direction and all cells share one table.
"""

from dataclasses import dataclass
from functools import cache

import basix
import numpy as np

Array = np.ndarray
_CELLS = {1: basix.CellType.interval, 2: basix.CellType.triangle}
_VERTICES = {1: np.array([[0.0], [1.0]]), 2: np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])}
EDGES = ((1, 2), (0, 2), (0, 1))
"""Vertices of the edges of a triangle, in the order in which their functions follow those of the vertices."""


@dataclass(frozen=True)
class Rule:
    """Nodes (q, d) in the reference cell and weights (q,)."""

    points: Array
    weights: Array


@dataclass(frozen=True)
class Element:
    """Polynomials of degree ``order`` on the reference simplex of dimension ``dim``; ``points`` (m, dim) are the nodes of the functions:
    vertices first, then edges, then the interior."""

    dim: int
    order: int
    points: Array

    def values(self, xi: Array) -> Array:
        """φ̂ at xi (n, dim): (n, m)."""
        return self._tabulated(xi, 0)[0]

    def slopes(self, xi: Array) -> Array:
        """∂φ̂/∂ξ_i at xi (n, dim): (dim, n, m)."""
        return self._tabulated(xi, 1)[1:]

    def _tabulated(self, xi: Array, derivatives: int) -> Array:
        return _lagrange(self.dim, self.order).tabulate(derivatives, np.ascontiguousarray(xi))[..., 0]


@cache
def element(dim: int, order: int) -> Element:
    return Element(dim, order, _lagrange(dim, order).points)


@cache
def _lagrange(dim: int, order: int) -> basix.finite_element.FiniteElement:
    kind = basix.LagrangeVariant.gll_warped
    return basix.create_element(basix.ElementFamily.P, _CELLS[dim], order, kind)


@cache
def rule(dim: int, degree: int) -> Rule:
    """Exact for polynomials of this degree; all weights are positive."""
    points, weights = basix.make_quadrature(_CELLS[dim], degree)
    assert weights.min() > 0
    return Rule(points, weights)


def barycentric(xi: Array) -> Array:
    """Weights (n, d + 1) of the vertices at xi (n, d)."""
    return np.column_stack([1.0 - xi.sum(axis=1), xi])


def mapped(xi: Array, vertices: Array) -> Array:
    """The affine image of xi (q, d) in cells with ``vertices`` (E, d + 1, dim): (E, q, dim)."""
    return np.einsum("qk,ekd->eqd", barycentric(xi), vertices, optimize=True)
