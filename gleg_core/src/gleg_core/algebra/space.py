"""The admissible space of a field:  a = a_bc(t) + N z  with  C N = 0  and  NᵀM_ΩN = I.

Symbols (those of the paper): a ∈ R^M ambient coefficients; C boundary rows; Z an orthonormal basis of ker C; M_Ω = Φ W Φᵀ the
mass matrix on Ω; N ∈ R^{M×r} the boundary-adapted coordinates; z ∈ R^r the reduced state; a_bc(t) = C⁺d(t) the lift.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from gleg_core.algebra.boundary_system import BoundarySystem
from gleg_core.algebra.conditions import RangeFactors, range_factors
from gleg_core.algebra.mass import large, norm, normalised
from gleg_core.algebra.symmetric import eigenvectors
from gleg_core.algebra.tables import Tables, integrated_products
from gleg_core.contracts.basis import Basis
from gleg_core.contracts.jet import MultiIndex, unit
from gleg_core.contracts.location import Location
from gleg_core.contracts.transform import IntegratedProducts, Transform
from gleg_core.errors import GeometryError, NumericsError
from gleg_core.matmul import matmul

ALGORITHM = 10
"""Raised when the construction changes, so that cached spaces of an older one are not used."""
_PROBES = 16
"""Functions whose products are measured for the diagnostics."""


@dataclass(frozen=True)
class Thresholds:
    """``tau_C``: singular values of C below tau_C·σ₁ count as zero. ``tau_M``: mass eigenvalues below tau_M·λ₁ are cut.
    ``rank``: at most so many functions are kept (None: all), those of the largest mass, or the ``smoothest``.

    Lower tau_M resolves more but amplifies: N grows like tau_M^{-1/2} and the stiffness with it.
    """

    tau_C: float = 1e-11
    tau_M: float = 1e-13
    rank: int | None = None
    smoothest: bool = False


@dataclass(frozen=True)
class Ground:
    """What the spaces of all fields are made on: a basis, and the volume ``nodes`` with their ``weights`` (n,)."""

    basis: Basis
    nodes: Location
    transform: Transform | None = None
    """The basis' fast evaluation at the volume nodes, if it has one."""
    products: Callable[[], IntegratedProducts | None] = lambda: None
    """Gives the basis' own integrals of products of its functions over Ω, if it has them."""
    tolerance: float = 0.0
    """The error allowed in integrals."""

    @property
    def weights(self) -> Tensor:
        assert self.nodes.weights is not None
        return self.nodes.weights


@dataclass(frozen=True, kw_only=True)
class AdmissibleSpace(Ground):
    """Coordinates of one field on Ω. ``N`` (M, r)."""

    boundary: BoundarySystem
    N: Tensor
    range: RangeFactors
    diagnostics: dict[str, Any]
    key: str = ""
    """A hash of all that these coordinates depend on; empty if unknown, then nothing made from them is kept."""

    @property
    def r(self) -> int:
        return self.N.shape[1]

    @cached_property
    def large(self) -> Tensor:
        """Mask (r,) of functions whose products with each other are not exact enough if made from ``products``."""
        return torch.from_numpy(large(self.N.numpy(), float(self.weights.sum()), self.tolerance))

    def riesz(self, moments: Tensor) -> Tensor:
        """Coordinates (..., r) of the function whose moments ∫ φ_i f are given: the same numbers, NᵀM_ΩN = I."""
        return moments

    def norm(self, z: Tensor) -> Tensor:
        """‖Σ z_i φ_i‖ in L²(Ω), (...)."""
        return z.norm(dim=-1)

    def expand(self, z: Tensor) -> Tensor:
        """N z, coefficients (..., M)."""
        return matmul(z, self.N.T)

    def rotated(self, Q: Tensor) -> "AdmissibleSpace":
        """The same space in the coordinates z' = Qᵀz, Q orthogonal."""
        return replace(self, N=matmul(self.N, Q), key="")

    def tables(self, at: Location, columns: Tensor | None = None) -> Tables:
        """The r functions N_{:,i} of the space, or those of other ``columns`` (M, k), on the points of ``at``."""
        transform = self.transform if at.x is self.nodes.x else None
        return Tables(self.basis, self.N if columns is None else columns, at.x, transform)

    def coordinates(self, coefficients: Tensor) -> Tensor:
        """NᵀM_Ω a for coefficients (..., M)."""
        zero = (0,) * self.basis.dim
        values = self.tables(self.nodes, coefficients.reshape(-1, self.basis.size).T)(zero)
        return self.tables(self.nodes).moments({zero: values * self.weights}).reshape(*coefficients.shape[:-1], self.r)


def build_space(
    ground: Ground, boundary: BoundarySystem, thresholds: Thresholds
) -> tuple[Tensor, RangeFactors, dict[str, Any]]:
    """N, the factors of C⁺, and diagnostics of the admissible space."""
    basis, nodes, weights = ground.basis, ground.nodes, ground.weights
    if not bool((weights > 0).all()):
        raise GeometryError(
            "the domain's quadrature has weights that are not positive; its mass matrix would be indefinite"
        )
    C = boundary.rows(basis)
    if not bool(torch.isfinite(C).all()):
        raise NumericsError(
            "a boundary operator gives rows that are not finite; check its coefficients on the boundary"
        )
    factors, sigma = range_factors(C, boundary.row_scale(C), thresholds.tau_C)
    rank = factors.V.shape[1]
    unseen = torch.nonzero((C == 0).all(dim=0)).flatten().tolist()
    # conditions on derivatives do not see the constant: kept exactly, it makes conserved means conserved to rounding
    kept = unseen[0] if len(unseen) == 1 and len(C) > 0 else None
    if rank + (kept is not None) == basis.size:
        but = "" if kept is None else " but the mean"
        raise NumericsError(
            f"the boundary conditions fix all {basis.size} coefficients of the basis{but}: raise its resolution"
        )
    zero = (0,) * basis.dim

    def at_nodes(columns: Tensor, alpha: MultiIndex = zero) -> Tensor:
        return Tables(basis, columns, nodes.x, ground.transform)(alpha)

    def mass_matrix() -> Tensor:
        return (ground.products() or integrated_products(basis, nodes.x, weights))(zero, zero)

    most = None if thresholds.smoothest else thresholds.rank
    root, V = weights.sqrt().numpy(), factors.V.numpy()
    N, condition = normalised(mass_matrix, at_nodes, root, V, thresholds.tau_M, kept, most, ground.tolerance)
    if thresholds.rank is not None and thresholds.rank < N.shape[1]:
        first = int(kept is not None)
        smooth = smoothest(at_nodes, weights, N[:, first:], thresholds.rank - first, basis.dim)
        N = torch.cat([N[:, :first], smooth], dim=1)
    diagnostics = {
        "M": basis.size,
        "boundary_rows": int(C.shape[0]),
        "rank": rank,
        "kernel": basis.size - rank,
        "r": int(N.shape[1]),
        "boundary_condition_number": float(sigma[0] / sigma[rank - 1]) if rank else 1.0,
        "mass_condition_number": condition,
        "least_weight": float(weights.min()),
        "quadrature_nodes": int(nodes.x.shape[0]),
        "orthonormality": _orthonormality(at_nodes, weights, N),
        "N_norm": norm(N.numpy()),
    }
    return N, factors, diagnostics


def smoothest(at_nodes: Callable[..., Tensor], weights: Tensor, N: Tensor, count: int, dim: int) -> Tensor:
    """The ``count`` functions in range(N) with the smallest ∫|∇φ|², smoothest first: N Q, (M, count), NᵀM_ΩN = I kept.

    With Dirichlet or Neumann conditions they approximate the slowest modes of diffusion: what a law leaves of any state after a while,
    and what sensors can tell apart best. Functions that no such law has made (Δu ≠ 0 where u = 0) they approach only algebraically.
    The gradient form is non-negative by construction; −∫φ Δφ with a coarse quadrature is not, and would let growing modes in.
    """
    form = torch.zeros(N.shape[1], N.shape[1], dtype=N.dtype)
    for axis in range(dim):
        slope = at_nodes(N, unit(dim, axis))
        form += matmul(slope * weights, slope.T)
    return matmul(N, torch.from_numpy(eigenvectors(form.numpy())[1][:, :count]))


def _orthonormality(at_nodes: Callable[[Tensor], Tensor], weights: Tensor, N: Tensor) -> float:
    """|YᵀNᵀM_ΩN Y − I| for some random orthonormal Y: all functions take part, at a small part of the cost."""
    generator = torch.Generator().manual_seed(0)
    Y = torch.linalg.qr(torch.randn(N.shape[1], min(N.shape[1], _PROBES), dtype=N.dtype, generator=generator)).Q
    values = at_nodes(matmul(N, Y))
    return float(((values * weights) @ values.T - torch.eye(Y.shape[1], dtype=N.dtype)).abs().max())
