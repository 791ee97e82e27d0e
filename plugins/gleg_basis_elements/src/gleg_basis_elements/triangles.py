"""Lagrange functions on a mesh of triangles, some with edges that follow curves exactly.

A triangle with vertices v_0, v_1, v_2 (in ascending order of their numbers) is the image of the reference triangle under

    x(ξ) = Σ_k λ_k v_k + Σ_edges λ_i λ_j w(t),     w(t) = (γ(t) − (1 − t) v_i − t v_j) / (t (1 − t)),   t = (1 + λ_j − λ_i)/2

over its curved edges γ from v_i to v_j: straight where no edge is curved, exact on the curves, smooth inside (Szabó & Babuška 1991). w is
taken as the polynomial through ``_SAMPLES`` more points than the functions' degree.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import shapely
from scipy.interpolate import BarycentricInterpolator

from gleg_basis_elements.boundary import points_of
from gleg_basis_elements.reference import EDGES, Rule, barycentric, element, mapped, rule
from gleg_basis_elements.triangulate import Mesh
from gleg_core.contracts.local_basis import Cells, EdgeCells

Array = np.ndarray
_SAMPLES = 3
_MORE = 2
"""Degree of the rules beyond products of two functions: curved cells and coefficients that vary need it."""
_NEWTON, _CONVERGED = 12, 1e-13
_BEYOND = 0.05
"""Part of a cell by which a point outside may be away from it. Farther ones get the value at the boundary."""


class Triangles:
    """Functions of degree ``order`` on a mesh, numbered: vertices, then edges, then interiors."""

    dim = 2

    def __init__(self, mesh: Mesh, order: int, names: Sequence[str]):
        self.mesh, self.order, self._names = mesh, order, names
        self.element = element(2, order)
        self.triangles = np.sort(mesh.cells, axis=1)
        self._vertices = mesh.points[self.triangles]
        pairs = self.triangles[:, EDGES].reshape(-1, 2)
        V = len(mesh.points)
        keys, which = np.unique(pairs[:, 0] * V + pairs[:, 1], return_inverse=True)
        self._keys, edges = keys, which.reshape(-1, 3)
        E, inside = len(self.triangles), (order - 1) * (order - 2) // 2
        on_edges = V + edges[:, :, None] * (order - 1) + np.arange(order - 1)
        interior = V + len(keys) * (order - 1) + np.arange(E * inside).reshape(E, inside)
        self.functions = np.concatenate([self.triangles, on_edges.reshape(E, -1), interior], axis=1)
        self.size = V + len(keys) * (order - 1) + E * inside
        self._sort_edges(edges)

    def _sort_edges(self, edges: Array) -> None:
        """Every edge on a curve with its ends in ascending order, and the curved edges of the cells."""
        mesh, V = self.mesh, len(self.mesh.points)
        turned = mesh.ends[:, 0] > mesh.ends[:, 1]
        self._ends = np.where(turned[:, None], mesh.ends[:, ::-1], mesh.ends)
        self._span = np.where(turned[:, None], mesh.span[:, ::-1], mesh.span)
        self._turned = turned
        self._edge = np.searchsorted(self._keys, self._ends[:, 0] * V + self._ends[:, 1])
        bent = np.array([not c.straight for c in mesh.curves])[mesh.curve]
        bend = np.full(len(self._keys), -1)
        bend[self._edge[bent]] = np.flatnonzero(bent)
        self._edges_of_cells = edges
        self._bent = bend[edges]  # (E, 3): row of the mesh's edges on curves, −1 where straight
        self.curved = np.flatnonzero((self._bent >= 0).any(axis=1))
        self.affine = np.flatnonzero((self._bent < 0).all(axis=1))

    @cached_property
    def _nodes(self) -> Array:
        k = self.order + _SAMPLES
        return 0.5 - 0.5 * np.cos((2 * np.arange(k) + 1) * np.pi / (2 * k))

    @cached_property
    def _bends(self) -> Array:
        """w at the nodes t_k of every edge on a curve, (B, k, 2)."""
        t, B = self._nodes, len(self._ends)
        s = self._span[:, :1] + t * (self._span[:, 1:] - self._span[:, :1])
        curve = points_of(self.mesh.curves, np.repeat(self.mesh.curve, len(t)), s.ravel()).reshape(B, len(t), 2)
        a, b = (self.mesh.points[self._ends[:, i]][:, None] for i in (0, 1))
        return (curve - (1 - t)[:, None] * a - t[:, None] * b) / (t * (1 - t))[:, None]

    def _along(self, t: Array) -> tuple[Array, Array]:
        """Polynomials through the nodes and their derivatives at t (q,): (q, k) each."""
        through = BarycentricInterpolator(self._nodes, np.eye(len(self._nodes)))
        return through(t), through.derivative(t)

    def map(self, cells: Array, xi: Array) -> tuple[Array, Array]:
        """x (c, q, 2) and ∂x_j/∂ξ_i, (c, q, j, i), at reference points xi (q, 2), or (c, q, 2) points of each cell's own."""
        own = xi.ndim == 3
        lam = barycentric(xi.reshape(-1, 2)).reshape(*xi.shape[:-1], 3)
        vertices = self._vertices[cells]
        x = np.einsum("...qk,ckd->cqd" if not own else "cqk,ckd->cqd", lam, vertices)
        jacobian = np.broadcast_to(self._affine(vertices)[:, None], (*x.shape, 2)).copy()
        slopes = np.array([[-1.0, -1.0], [1.0, 0.0], [0.0, 1.0]])  # ∂λ_k/∂ξ_i
        for e, (i, j) in enumerate(EDGES):
            rows = np.flatnonzero(self._bent[cells, e] >= 0)
            if not len(rows):
                continue
            li, lj = (lam[rows, :, k] if own else lam[None, :, k] for k in (i, j))
            t = 0.5 * (1 + lj - li)
            values, rates = self._along(t.ravel())
            values, rates = (table.reshape(*t.shape, -1) for table in (values, rates))
            bends = self._bends[self._bent[cells[rows], e]]
            w, dw = (np.einsum("cqk,ckd->cqd", np.broadcast_to(table, (len(rows), *table.shape[1:])), bends, optimize=True)
                     for table in (values, rates))  # fmt: skip
            product = li * lj
            x[rows] += product[..., None] * w
            for a in range(2):
                rate = slopes[i, a] * lj + slopes[j, a] * li
                jacobian[rows, :, :, a] += (
                    rate[..., None] * w + (0.5 * product * (slopes[j, a] - slopes[i, a]))[..., None] * dw
                )
        return x, jacobian

    @staticmethod
    def _affine(vertices: Array) -> Array:
        """∂x_j/∂ξ_i of straight cells, (c, j, i)."""
        return np.stack([vertices[:, 1] - vertices[:, 0], vertices[:, 2] - vertices[:, 0]], axis=-1)

    @property
    def _rule(self) -> Rule:
        return rule(2, 2 * self.order + _MORE)

    def folded(self) -> Array:
        """Numbers of the curved cells whose map is not one to one."""
        if not len(self.curved):
            return self.curved
        _, jacobian = self.map(self.curved, np.concatenate([self._rule.points, self.element.points]))
        straight = np.linalg.det(self._affine(self._vertices[self.curved]))
        with np.errstate(invalid="ignore", divide="ignore"):  # of cells without an area: folded
            least = (np.linalg.det(jacobian) / straight[:, None]).min(axis=1)
        return self.curved[~(least >= 0.1)]

    def cells(self) -> list[tuple[Cells, Array]]:
        """Cells that share what they can, and their numbers."""
        q = self._rule
        values, slopes = self.element.values(q.points), self.element.slopes(q.points)
        groups = []
        if len(self.affine):
            vertices = self._vertices[self.affine]
            jacobian = self._affine(vertices)
            weights = np.abs(np.linalg.det(jacobian))[:, None] * q.weights
            inverse = np.linalg.inv(jacobian)[:, None]
            straight = Cells(self.functions[self.affine], values, slopes, inverse, mapped(q.points, vertices), weights)
            groups.append((straight, self.affine))
        if len(self.curved):
            x, jacobian = self.map(self.curved, q.points)
            weights = np.abs(np.linalg.det(jacobian)) * q.weights
            bent = Cells(self.functions[self.curved], values, slopes, np.linalg.inv(jacobian), x, weights)
            groups.append((bent, self.curved))
        return groups

    def edge_cells(self) -> list[EdgeCells]:
        """One group for every segment of ∂Ω."""
        p, line = self.order, element(1, self.order)
        q = rule(1, 2 * p + _MORE)
        t, values = q.points[:, 0], line.values(q.points)
        found = []
        for number, name in enumerate(self._names):
            rows = np.flatnonzero(self.mesh.segment == number)
            inner = len(self.mesh.points) + self._edge[rows, None] * (p - 1) + np.arange(p - 1)
            x, velocity = self._on_edges(rows, t)
            speed = np.linalg.norm(velocity, axis=-1)
            sign = np.where(self._turned[rows], -1.0, 1.0)[:, None, None]  # Ω is on the left of the curve
            normals = sign * velocity[..., ::-1] * [1.0, -1.0] / speed[..., None]
            functions = np.concatenate([self._ends[rows], inner], axis=1)
            found.append(EdgeCells(name, functions, values, x, normals, speed * q.weights))
        return found

    def edges_with_nodes(self) -> list[tuple[EdgeCells, Array, Array]]:
        """The groups of :meth:`edge_cells`, where their functions are one (B, p + 1, 2), and the cells beside the edges (B,)."""
        cell = np.empty(len(self._keys), dtype=int)
        cell[self._edges_of_cells] = np.arange(len(self.triangles))[:, None]
        t = element(1, self.order).points[:, 0]
        found = []
        for number, group in enumerate(self.edge_cells()):
            rows = np.flatnonzero(self.mesh.segment == number)
            found.append((group, self._on_edges(rows, t)[0], cell[self._edge[rows]]))
        return found

    def _on_edges(self, rows: Array, t: Array) -> tuple[Array, Array]:
        """x (B, q, 2) and ∂x/∂t at t (q,) of edges on curves."""
        table, rates = self._along(t)
        a, b = (self.mesh.points[self._ends[rows, i]][:, None] for i in (0, 1))
        bent = np.array([not c.straight for c in self.mesh.curves])[self.mesh.curve[rows]]
        bends = self._bends[rows] * bent[:, None, None]
        w, dw = (np.einsum("qk,bkd->bqd", one, bends, optimize=True) for one in (table, rates))
        bubble = (t * (1 - t))[:, None]
        x = (1 - t)[:, None] * a + t[:, None] * b + bubble * w
        return x, b - a + (1 - 2 * t)[:, None] * w + bubble * dw

    def inner_nodes(self) -> tuple[Array, Array]:
        """Nodes inside the cells, (E, m, 2), and the functions that interpolate there at the nodes of the rule, (q, m)."""
        xi, table = self.element.inner(self._rule.points)
        return self.map(np.arange(len(self.triangles)), xi)[0], table

    def diameters(self) -> Array:
        """The longest edges, (E,)."""
        v = self._vertices
        return np.max([np.hypot(*(v[:, i] - v[:, j]).T) for i, j in EDGES], axis=0)

    @property
    def centres(self) -> Array:
        return self._vertices.mean(axis=1)

    @cached_property
    def _boxes(self) -> shapely.STRtree:
        low, high = self._vertices.min(axis=1), self._vertices.max(axis=1)
        if len(self.curved):
            rim = np.array([[0, s] for s in np.linspace(0, 1, 17)])
            rim = np.concatenate([rim, rim[:, ::-1], np.column_stack([rim[:, 1], 1 - rim[:, 1]])])
            x, _ = self.map(self.curved, rim)
            low[self.curved], high[self.curved] = x.min(axis=1), x.max(axis=1)
        slack = (
            np.where(np.isin(np.arange(len(low)), self.curved), 0.01, 1e-9)[:, None] * (high - low).max(axis=1)[:, None]
        )
        return shapely.STRtree(shapely.box(*(low - slack).T, *(high + slack).T))

    def locate(self, points: Array) -> tuple[Array, Array]:
        """The cell (n,) that a point lies in, and its reference point (n, 2); of points outside, those of the cell that is nearest."""
        which, cell = self._boxes.query(shapely.points(points), predicate="intersects")
        lost = np.setdiff1d(np.arange(len(points)), which)
        if len(lost):
            which = np.append(which, lost)
            cell = np.append(cell, self._boxes.nearest(shapely.points(points[lost])))
        xi = self._pulled_back(cell, points[which])
        depth = np.minimum(xi.min(axis=1), 1 - xi.sum(axis=1))
        order = np.lexsort((-depth, which))
        first = order[np.diff(which[order], prepend=-1) > 0]
        far = first[depth[first] < -_BEYOND]  # polynomials are not continued that far
        xi[far] = np.maximum(xi[far], 0.0)
        xi[far] /= np.maximum(xi[far].sum(axis=1, keepdims=True), 1.0)
        return cell[first], xi[first]

    def _pulled_back(self, cells: Array, points: Array) -> Array:
        """ξ (n, 2) with x(ξ) = points (n, 2), one in each of the cells (n,)."""
        vertices = self._vertices[cells]
        xi = np.linalg.solve(self._affine(vertices), (points - vertices[:, 0])[..., None])[..., 0]
        bent = np.flatnonzero(np.isin(cells, self.curved))
        for _ in range(_NEWTON):
            if not len(bent):
                break
            x, jacobian = self.map(cells[bent], xi[bent, None])
            step = np.linalg.solve(jacobian[:, 0], (points[bent] - x[:, 0])[..., None])[..., 0]
            xi[bent] += np.clip(step, -0.5, 0.5)
            bent = bent[np.abs(step).max(axis=1) > _CONVERGED]
        return np.clip(xi, -1.0, 2.0)

    def inverse(self, cells: Array, xi: Array) -> Array:
        """∂ξ_i/∂x_j at one point xi (n, 2) in each of the cells (n,): (n, i, j)."""
        return np.linalg.inv(self.map(cells, xi[:, None])[1][:, 0])
