"""The admissible space of a field:  a = a_bc(t) + N z  with  C N = 0  and  NᵀM_ΩN = I.

Symbols (those of the paper): a ∈ R^M ambient coefficients; C boundary rows; Z an orthonormal basis of ker C; M_Ω = Φ W Φᵀ the
mass matrix on Ω; N ∈ R^{M×r} the boundary-adapted coordinates; z ∈ R^r the reduced state; a_bc(t) = C⁺d(t) the lift.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg
import torch
from torch import Tensor

from gleg_core.algebra.boundary_system import BoundarySystem
from gleg_core.algebra.tables import Tables, tabulate
from gleg_core.contracts.basis import Basis
from gleg_core.contracts.location import Location
from gleg_core.errors import GeometryError, NumericsError

ALGORITHM = 2
"""Raised when the construction changes, so that cached spaces of an older one are not used."""


@dataclass(frozen=True)
class Thresholds:
    """``tau_C``: singular values of C below tau_C·σ₁ count as zero. ``tau_M``: mass eigenvalues below tau_M·λ₁ are cut.

    Lower tau_M resolves more but amplifies: N grows like tau_M^{-1/2} and the stiffness with it.
    """

    tau_C: float = 1e-11
    tau_M: float = 1e-13


@dataclass(frozen=True)
class RangeFactors:
    """The lift C⁺ = V diag(1/σ) Uᵀ S in factored form, ρ the numerical rank of the scaled rows S C.

    ``V`` (M, ρ) orthonormal directions; ``to_theta`` (ρ, N_b) maps data to θ = Σ⁻¹UᵀS d, so that a_bc = V θ; ``to_data`` (ρ, N_b)
    maps back, d = θ @ to_data. The product C⁺ itself is never formed: its entries reach 1/tau_C, and their rounding errors would be
    boundary errors of size ε/tau_C, while errors in θ only move along directions whose trace is as small as their σ.
    """

    V: Tensor
    to_theta: Tensor
    to_data: Tensor


@dataclass(frozen=True)
class AdmissibleSpace:
    """Coordinates of one field on Ω. ``N`` (M, r); ``weights`` (n,) at the volume ``nodes``."""

    basis: Basis
    nodes: Location
    weights: Tensor
    boundary: BoundarySystem
    N: Tensor
    range: RangeFactors
    diagnostics: dict[str, Any]

    @property
    def r(self) -> int:
        return self.N.shape[1]

    def rotated(self, Q: Tensor) -> AdmissibleSpace:
        """The same space in the coordinates z' = Qᵀz, Q orthogonal."""
        return replace(self, N=self.N @ Q)

    def tables(self, at: Location) -> Tables:
        """The r basis functions N_{:,i} of the space as tables on the points of ``at``."""
        return Tables(self.basis, self.N, at.x)

    def coordinates(self, coefficients: Tensor) -> Tensor:
        """NᵀM_Ω a for coefficients (..., M)."""
        zero = (0,) * self.basis.dim
        phi_N = self.tables(self.nodes)(zero)
        values = coefficients @ tabulate(self.basis, self.nodes.x, zero)
        return (values * self.weights) @ phi_N.T


def build_space(
    basis: Basis, nodes: Location, weights: Tensor, boundary: BoundarySystem, thresholds: Thresholds
) -> tuple[Tensor, RangeFactors, dict[str, Any]]:
    """N, the factors of C⁺, and diagnostics of the admissible space."""
    if not bool((weights > 0).all()):
        raise GeometryError(
            "the domain's quadrature has weights that are not positive; its mass matrix would be indefinite"
        )
    C = boundary.rows(basis)
    if not bool(torch.isfinite(C).all()):
        raise NumericsError(
            "a boundary operator gives rows that are not finite; check its coefficients on the boundary"
        )
    Z, factors, sigma, rank = _null_space(C, boundary.row_scale(C), thresholds.tau_C)
    N, mass = _mass_normalised(basis, nodes, weights, Z, thresholds.tau_M)
    diagnostics = {
        "M": basis.size,
        "boundary_rows": int(C.shape[0]),
        "rank": rank,
        "kernel": int(Z.shape[1]),
        "r": int(N.shape[1]),
        "boundary_condition_number": float(sigma[0] / sigma[rank - 1]) if rank else 1.0,
        "mass_condition_number": float((mass[0] / mass[N.shape[1] - 1]) ** 2),
        "least_weight": float(weights.min()),
        "quadrature_nodes": int(nodes.x.shape[0]),
        **_orthonormality(basis, nodes, weights, N),
    }
    return N, factors, diagnostics


def _null_space(C: Tensor, scale: Tensor, tau: float) -> tuple[np.ndarray, RangeFactors, np.ndarray, int]:
    """SVD of the scaled rows S C = U Σ Vᵀ: Z = V beyond the numerical rank, the factors of C⁺ up to it."""
    M = C.shape[1]
    if C.shape[0] == 0:
        empty = torch.zeros(0, 0, dtype=C.dtype)
        return np.eye(M), RangeFactors(torch.zeros(M, 0, dtype=C.dtype), empty, empty), np.ones(1), 0
    U, sigma, Vt = scipy.linalg.svd((scale[:, None] * C).numpy(), full_matrices=True, check_finite=False)
    rank = int((sigma > tau * sigma[0]).sum())
    if rank == M:
        raise NumericsError(
            f"the boundary conditions fix all {M} coefficients of the basis: raise its resolution (for Fourier: K)"
        )
    U, s = U[:, :rank], sigma[:rank]
    to_theta = (U / s).T * scale.numpy()
    to_data = (U * s).T / scale.numpy()
    V, to_theta, to_data = (torch.from_numpy(np.ascontiguousarray(a)) for a in (Vt[:rank].T, to_theta, to_data))
    return Vt[rank:].T, RangeFactors(V, to_theta, to_data), sigma, rank


def _mass_normalised(
    basis: Basis, nodes: Location, weights: Tensor, Z: np.ndarray, tau: float
) -> tuple[Tensor, np.ndarray]:
    """N = Z V_r S_r⁻¹ from the singular values s of √W ΦᵀZ (squares: the mass eigenvalues), then one more QR.

    Working with singular values instead of the Gram matrix keeps directions down to s/s₁ ≈ 1e-15 meaningful. One pass
    leaves NᵀM_ΩN = I only to about 1e-16/√tau; the second QR restores rounding level.
    """
    zero = (0,) * basis.dim
    phi = tabulate(basis, nodes.x, zero)
    root = weights.sqrt()
    columns = (Z.T @ phi.numpy()) * root.numpy()
    R = scipy.linalg.qr(columns.T, mode="r", check_finite=False)[0][: min(columns.shape)]
    _, s, Vt = scipy.linalg.svd(R, full_matrices=False, check_finite=False)
    keep = int((s > np.sqrt(tau) * s[0]).sum())
    N = Z @ (Vt[:keep].T / s[:keep])
    again = scipy.linalg.qr((N.T @ phi.numpy() * root.numpy()).T, mode="r", check_finite=False)[0][:keep]
    N = scipy.linalg.solve_triangular(again, N.T, trans="T", check_finite=False).T
    return torch.from_numpy(np.ascontiguousarray(N)), s


def _orthonormality(basis: Basis, nodes: Location, weights: Tensor, N: Tensor) -> dict[str, float]:
    zero = (0,) * basis.dim
    phi_N = N.T @ tabulate(basis, nodes.x, zero)
    gram = (phi_N * weights) @ phi_N.T
    return {
        "orthonormality": float((gram - torch.eye(N.shape[1], dtype=N.dtype)).abs().max()),
        "N_norm": float(torch.linalg.matrix_norm(N, ord=2)),
    }
