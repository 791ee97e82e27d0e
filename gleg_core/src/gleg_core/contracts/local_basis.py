"""Contract LocalBasis: trial functions with small supports, made for one domain (finite elements).

    u_a(x) = Σ_j a_j φ_j(x),      on a cell  φ_j(x(ξ)) = φ̂_k(ξ),  x(ξ) the map of the reference cell to it

A local basis is a :class:`gleg_core.contracts.basis.Basis` that divides Ω into cells. It brings quadrature rules of its own, in Ω and
on the segments of ∂Ω, because only it knows where its functions are smooth. Cells that share a table of reference functions come
together, so that evaluating a field everywhere is one product of matrices; nothing of size M × n is ever formed. Core keeps every matrix
sparse: essential conditions are met by elimination, natural ones through the weak form. Mechanisms and boundary conditions do not know.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gleg_core.contracts.basis import Basis
from gleg_core.contracts.jet import MultiIndex

Array = np.ndarray


@dataclass(frozen=True)
class Cells:
    """E cells of Ω with one table of m reference functions at q reference nodes.

    ``functions`` (E, m): which function j of the basis the k-th reference function is a part of. ``values`` (q, m), ``slopes`` (d, q, m):
    φ̂_k and ∂φ̂_k/∂ξ_i. ``inverse`` (E, q, d, d), or (E, 1, d, d) where the map is affine: ∂ξ_i/∂x_j at [..., i, j]. ``points`` (E, q, d) and
    ``weights`` (E, q), all positive: the rule in physical space, exact enough for products of two functions.
    """

    functions: Array
    values: Array
    slopes: Array
    inverse: Array
    points: Array
    weights: Array


@dataclass(frozen=True)
class EdgeCells:
    """E cells of a ``segment`` of ∂Ω: functions, values, points and weights (of arclength) as in :class:`Cells`, outward unit ``normals``
    (E, q, d). In one dimension one cell with one node and weight 1."""

    segment: str
    functions: Array
    values: Array
    points: Array
    normals: Array
    weights: Array


class LocalBasis(Basis):
    """Trial functions φ_1 … φ_M on cells of Ω: continuous, with square-integrable first derivatives."""

    cells: Sequence[Cells]
    """They cover Ω once."""
    edges: Sequence[EdgeCells]
    """They cover ∂Ω once. Functions that are in no edge cell of a segment vanish on it; those that are have traces that are linearly
    independent."""

    @abstractmethod
    def evaluate(self, coefficients: Tensor, points: Tensor, derivative: MultiIndex | None = None) -> Tensor:
        """Synthesis ∂^αu_a at any ``points`` (n, dim) of the closure of Ω, |α| ≤ 1: coefficients (..., M) → (..., n)."""

    def describe(self) -> str:
        """One line of facts for the output of a run: order, cells, where they are refined and why."""
        return f"{sum(len(c.functions) for c in self.cells):,} cells, {self.size:,} functions"

    def errors(self, coefficients: Tensor) -> Tensor | None:
        """What this basis leaves of a field, as far as its approximation u_a tells: estimates of ‖u − u_a‖ in L² on every cell, in the
        order of ``cells``, (..., M) → (..., E); None if it cannot tell."""
        return None

    def refined(self, errors: Array, allowed: float) -> Mapping[str, Any] | None:
        """Parameters of its entry for a basis that leaves an error of about ``allowed`` in all where this one leaves ``errors`` (E,); None
        if it knows no better one."""
        return None

    def tabulate(self, points: Tensor, derivatives: Iterable[MultiIndex]) -> dict[MultiIndex, Tensor]:
        unit = torch.eye(self.size, dtype=torch.float64)
        return {alpha: self.evaluate(unit, points, alpha) for alpha in derivatives}

    def project(self, function: Callable[[Tensor], Tensor]) -> Tensor:
        """The projection in L²(Ω), from the rules of the cells."""
        from scipy.sparse import coo_array
        from scipy.sparse.linalg import splu

        M, moments, parts = self.size, np.zeros((0, 0)), []
        for c in self.cells:
            f = function(torch.from_numpy(c.points.reshape(-1, self.dim))).numpy()
            batch = f.shape[:-1]
            loads = (f.reshape(-1, *c.weights.shape) * c.weights) @ c.values
            own = np.array([np.bincount(c.functions.ravel(), weights=one.ravel(), minlength=M) for one in loads])
            moments = moments + own if moments.size else own
            rows, columns = np.broadcast_arrays(c.functions[:, :, None], c.functions[:, None, :])
            blocks = np.einsum("eq,qk,ql->ekl", c.weights, c.values, c.values, optimize=True)
            parts.append((blocks.ravel(), rows.ravel(), columns.ravel()))
        data, rows, columns = map(np.concatenate, zip(*parts, strict=True))
        mass = coo_array((data, (rows, columns)), shape=(M, M)).tocsc()
        return torch.from_numpy(np.ascontiguousarray(splu(mass).solve(moments.T).T)).reshape(*batch, M)
