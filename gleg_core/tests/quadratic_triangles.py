"""A local basis for tests, with no mesh generator: quadratic Lagrange functions on the triangles of a grid over squares.

The domain must be a polygon made of grid squares. Every square is cut along one diagonal.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from gleg_core.contracts.basis import Site
from gleg_core.contracts.domain import Segment
from gleg_core.contracts.jet import MultiIndex
from gleg_core.contracts.local_basis import Cells, EdgeCells, LocalBasis
from gleg_core.errors import SpecError

Array = np.ndarray
_NODES = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.0, 0.5], [0.5, 0.0]])


def _shapes(xi: Array) -> tuple[Array, Array]:
    """φ̂ (q, 6) and ∂φ̂/∂ξ (2, q, 6) at reference points (q, 2), from monomials 1, x, y, x², xy, y²."""
    to = np.linalg.inv(_monomials(_NODES))
    x, y = xi.T
    one, zero = np.ones_like(x), np.zeros_like(x)
    slopes = np.array(
        [np.column_stack([zero, one, zero, 2 * x, y, zero]), np.column_stack([zero, zero, one, zero, x, 2 * y])]
    )
    return _monomials(xi) @ to, slopes @ to


def _monomials(points: Array) -> Array:
    x, y = points.T
    return np.column_stack([np.ones_like(x), x, y, x * x, x * y, y * y])


def _triangle_rule(n: int = 4) -> tuple[Array, Array]:
    """Collapsed Gauss rule on the reference triangle."""
    u, w = np.polynomial.legendre.leggauss(n)
    u, w = (u + 1) / 2, w / 2
    a, b = np.meshgrid(u, u, indexing="ij")
    return np.column_stack([(a * (1 - b)).ravel(), b.ravel()]), (np.outer(w, w) * (1 - b)).ravel()


class QuadraticTriangles(LocalBasis):
    def __init__(self, site: Site, h: float):
        assert site.domain is not None
        self.frame, self.bandwidth, self._h = site.frame, 2 * np.pi / h, h
        low, high = site.domain.bounds.T
        counts = np.round((high - low) / h).astype(int)
        corners = np.stack(np.meshgrid(*(np.arange(n) for n in counts), indexing="ij"), axis=-1).reshape(-1, 2)
        inside = site.domain.contains(low + (corners + 0.5) * h)
        self._low, squares = low, corners[inside]
        self._squares = {tuple(s): i for i, s in enumerate(squares.tolist())}
        local = [np.array([[0, 0], [1, 0], [0, 1]]), np.array([[1, 1], [0, 1], [1, 0]])]
        triangles = np.concatenate([squares[:, None, :] + t for t in local])  # (E, 3, 2)
        half = np.einsum("kl,eld->ekd", _barycentric(_NODES), 2 * triangles).round().astype(int)
        keys, numbers = np.unique(half.reshape(-1, 2), axis=0, return_inverse=True)
        self._functions = numbers.reshape(len(triangles), 6)
        self.size, self._half = len(keys), keys
        xi, w = _triangle_rule()
        values, slopes = _shapes(xi)
        vertices = low + h * triangles
        jacobian = np.stack([vertices[:, 1] - vertices[:, 0], vertices[:, 2] - vertices[:, 0]], axis=-1)
        inverse = np.linalg.inv(jacobian)[:, None]
        self._vertices, self._inverse = vertices, inverse[:, 0]
        points = np.einsum("qk,ekd->eqd", _barycentric(xi), vertices)
        weights = np.abs(np.linalg.det(jacobian))[:, None] * w
        self.cells = [Cells(self._functions, values, slopes, inverse, points, weights)]
        self.edges = [e for s in site.domain.segments for e in self._edges(s)]

    def _edges(self, segment: Segment) -> Sequence[EdgeCells]:
        number = {tuple(k): i for i, k in enumerate(self._half.tolist())}
        outline = segment.outline(2)
        u, w = np.polynomial.legendre.leggauss(4)
        s = (u + 1) / 2
        values = np.column_stack([(1 - s) * (1 - 2 * s), 4 * s * (1 - s), s * (2 * s - 1)])
        functions, points, normals = [], [], []
        for a, b in pairwise(outline):
            if not np.isfinite([a, b]).all():
                continue
            n = round(float(np.hypot(*(b - a))) / self._h)
            for i in range(n):
                ends = [a + (b - a) * (i + f) / n for f in (0, 0.5, 1)]
                functions.append(
                    [number[tuple(np.round(2 * (p - self._low) / self._h).astype(int).tolist())] for p in ends]
                )
                points.append(ends[0] + np.outer(s, ends[2] - ends[0]))
                t = (b - a) / np.hypot(*(b - a))
                normals.append(np.tile([t[1], -t[0]], (4, 1)))
        weights = np.tile(w / 2 * self._h, (len(points), 1))
        return [EdgeCells(segment.name, np.array(functions), values, np.array(points), np.array(normals), weights)]

    def evaluate(self, coefficients: Tensor, points: Tensor, derivative: MultiIndex | None = None) -> Tensor:
        if derivative is not None and sum(derivative) > 1:
            raise SpecError("quadratic triangles have no second derivatives")
        x = points.numpy()
        square = np.array([self._square((p - self._low) / self._h) for p in x], dtype=int).reshape(-1, 2)
        at = np.array([self._squares[tuple(s)] for s in square.tolist()], dtype=int)
        within = (x - self._low) / self._h - square
        cell = np.where(within.sum(axis=1) <= 1, at, at + len(self._squares))
        xi = np.einsum("nij,nj->ni", self._inverse[cell], x - self._vertices[cell, 0])
        values, slopes = _shapes(xi)
        table = values
        if derivative is not None and sum(derivative):
            table = np.einsum("ni,ink->nk", self._inverse[cell][:, :, derivative.index(1)], slopes)
        own = coefficients[..., torch.from_numpy(self._functions[cell])]
        return (own * torch.from_numpy(table)).sum(dim=-1)

    def _square(self, place: Array) -> Array:
        """The square around a point in units of h; a point on ∂Ω belongs to the one inside."""
        for shift in ((-1, -1), (1, 1), (-1, 1), (1, -1)):
            found = np.floor(place + 1e-9 * np.array(shift)).astype(int)
            if tuple(found.tolist()) in self._squares:
                return found
        raise ValueError(f"{place} is outside")


def _barycentric(xi: Array) -> Array:
    """Weights (n, 3) of the three vertices."""
    return np.column_stack([1 - xi.sum(axis=1), xi])
