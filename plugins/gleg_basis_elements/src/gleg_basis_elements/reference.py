"""The reference simplex: Lagrange functions at Gauss–Lobatto–Legendre points, and quadrature rules. basix makes them.

Vertices are numbered in ascending order of their global numbers on every cell, so that neighbours run through a shared edge in one
direction and all cells share one table.
"""

import atexit
import math
from dataclasses import dataclass
from functools import cache

import basix
import numpy as np

Array = np.ndarray
_CELLS = {1: basix.CellType.interval, 2: basix.CellType.triangle}
_VERTICES = {1: np.array([[0.0], [1.0]]), 2: np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])}
EDGES = ((1, 2), (0, 2), (0, 1))
"""Vertices of the edges of a triangle, in the order in which their functions follow those of the vertices."""


_DRAWN = 1e-3


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

    def inner(self, xi: Array) -> tuple[Array, Array]:
        """The nodes (m, dim) drawn a little towards the middle of the cell, and the polynomials that interpolate there, (n, m), at xi
        (n, dim)."""
        middle, share = np.full(self.dim, 1.0 / (self.dim + 1)), 1.0 - _DRAWN
        return middle + share * (self.points - middle), self.values(middle + (xi - middle) / share)

    def by_degree(self, values: Array) -> Array:
        """Sizes of the orthogonal parts of degree 0 … order of polynomials given by their values at the nodes, (..., m) → (..., order + 1):
        norms in L² of a cell of measure one."""
        to, starts = _orthonormal(self.dim, self.order)
        parts = (values @ to) ** 2
        return np.sqrt(np.add.reduceat(parts, starts, axis=-1))

    def _tabulated(self, xi: Array, derivatives: int) -> Array:
        return _lagrange(self.dim, self.order).tabulate(derivatives, np.ascontiguousarray(xi))[..., 0]


@cache
def element(dim: int, order: int) -> Element:
    return Element(dim, order, _lagrange(dim, order).points.copy())  # a view would keep basix' object alive


@cache
def _lagrange(dim: int, order: int) -> basix.finite_element.FiniteElement:
    kind = basix.LagrangeVariant.gll_warped
    return basix.create_element(basix.ElementFamily.P, _CELLS[dim], order, kind)


atexit.register(_lagrange.cache_clear)  # basix complains of its objects that are left when Python ends


@cache
def _orthonormal(dim: int, order: int) -> tuple[Array, Array]:
    """The matrix (m, m) from values at the nodes to coefficients of polynomials orthonormal in the mean, by rising degree, and where each
    degree starts."""
    own = element(dim, order)
    kind = basix.PolynomialType.legendre
    at_nodes = basix.tabulate_polynomials(kind, _CELLS[dim], order, own.points)
    starts = np.arange(order + 1) if dim == 1 else np.arange(order + 1) * np.arange(1, order + 2) // 2
    return np.linalg.inv(at_nodes) * math.sqrt(math.factorial(dim)), starts


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
