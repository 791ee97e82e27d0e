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

ALGORITHM = 5
"""Raised when the construction changes, so that cached spaces of an older one are not used."""


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
    unseen = (C == 0).all(dim=0).numpy()
    Z, factors, sigma, rank = _null_space(C, boundary.row_scale(C), thresholds.tau_C, unseen)
    # conditions on derivatives do not see the constant: kept exactly, it makes conserved means conserved to rounding
    kept = int(unseen.sum() == 1 and len(C) > 0)
    most = None if thresholds.smoothest else thresholds.rank
    N, mass = _mass_normalised(basis, nodes, weights, Z, thresholds.tau_M, kept, most)
    cut = N.shape[1] - 1
    if thresholds.rank is not None and thresholds.rank < N.shape[1]:
        smooth = smoothest(basis, nodes, weights, N[:, kept:], thresholds.rank - kept)
        N = torch.cat([N[:, :kept], smooth], dim=1)
    diagnostics = {
        "M": basis.size,
        "boundary_rows": int(C.shape[0]),
        "rank": rank,
        "kernel": int(Z.shape[1]),
        "r": int(N.shape[1]),
        "boundary_condition_number": float(sigma[0] / sigma[rank - 1]) if rank else 1.0,
        "mass_condition_number": float((mass[0] / mass[min(cut, len(mass) - 1)]) ** 2),
        "least_weight": float(weights.min()),
        "quadrature_nodes": int(nodes.x.shape[0]),
        **_orthonormality(basis, nodes, weights, N),
    }
    return N, factors, diagnostics


def _svd(A: np.ndarray, full_matrices: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A = U Σ Vᵀ. Divide and conquer is fast but now and then fails on singular values that span all of double precision."""
    try:
        return scipy.linalg.svd(A, full_matrices=full_matrices, check_finite=False)
    except np.linalg.LinAlgError:
        return scipy.linalg.svd(A, full_matrices=full_matrices, check_finite=False, lapack_driver="gesvd")


def _null_space(
    C: Tensor, scale: Tensor, tau: float, unseen: np.ndarray
) -> tuple[np.ndarray, RangeFactors, np.ndarray, int]:
    """SVD of the scaled rows S C = U Σ Vᵀ: Z = V beyond the numerical rank, the factors of C⁺ up to it.

    Functions that no row sees (columns that are zero, mask (M,)) are the first columns of Z, untouched by the SVD.
    """
    M = C.shape[1]
    if C.shape[0] == 0:
        empty = torch.zeros(0, 0, dtype=C.dtype)
        return np.eye(M), RangeFactors(torch.zeros(M, 0, dtype=C.dtype), empty, empty), np.ones(1), 0
    seen = np.flatnonzero(~unseen)
    U, sigma, W = _svd((scale[:, None] * C).numpy()[:, seen], full_matrices=True)
    Vt = np.zeros((len(seen), M))
    Vt[:, seen] = W
    rank = int((sigma > tau * sigma[0]).sum())
    if rank == M:
        raise NumericsError(
            f"the boundary conditions fix all {M} coefficients of the basis: raise its resolution (fourier: K, legendre: degree)"
        )
    U, s = U[:, :rank], sigma[:rank]
    to_theta = (U / s).T * scale.numpy()
    to_data = (U * s).T / scale.numpy()
    V, to_theta, to_data = (torch.from_numpy(np.ascontiguousarray(a)) for a in (Vt[:rank].T, to_theta, to_data))
    Z = np.concatenate([np.eye(M)[:, unseen], Vt[rank:].T], axis=1)
    return Z, RangeFactors(V, to_theta, to_data), sigma, rank


def _mass_normalised(
    basis: Basis, nodes: Location, weights: Tensor, Z: np.ndarray, tau_M: float, kept: int, most: int | None
) -> tuple[Tensor, np.ndarray]:
    """N = Z V_r S_r⁻¹ from the singular values s of √W ΦᵀZ (squares: the mass eigenvalues), then one more QR.

    The first ``kept`` columns of Z stay in the space as they are: the others are made orthogonal to them first. They count
    among the ``most`` that are kept.

    Working with singular values instead of the Gram matrix keeps directions down to s/s₁ ≈ 1e-15 meaningful. One pass
    leaves NᵀM_ΩN = I only to about 1e-16/√tau_M; the second QR restores rounding level.
    """
    weighted = tabulate(basis, nodes.x, (0,) * basis.dim).numpy() * weights.sqrt().numpy()
    first, rest = Z[:, :kept], Z[:, kept:]
    columns = rest.T @ weighted
    if kept:
        q = first.T @ weighted  # (kept, n)
        overlap = columns @ q.T @ np.linalg.inv(q @ q.T)
        rest, columns = rest - first @ overlap.T, columns - overlap @ q
    R = scipy.linalg.qr(columns.T, mode="r", check_finite=False)[0][: min(columns.shape)]
    _, s, Vt = _svd(R, full_matrices=False)
    keep = int((s > np.sqrt(tau_M) * s[0]).sum())
    if most is not None:
        keep = min(keep, most - kept)
    N = np.concatenate([first, rest @ (Vt[:keep].T / s[:keep])], axis=1)
    again = scipy.linalg.qr((N.T @ weighted).T, mode="r", check_finite=False)[0][: N.shape[1]]
    N = scipy.linalg.solve_triangular(again, N.T, trans="T", check_finite=False).T
    return torch.from_numpy(np.ascontiguousarray(N)), s


def smoothest(basis: Basis, nodes: Location, weights: Tensor, N: Tensor, count: int) -> Tensor:
    """The ``count`` functions in range(N) with the smallest ∫|∇φ|², smoothest first: N Q, (M, count), NᵀM_ΩN = I kept.

    With Dirichlet or Neumann conditions they approximate the slowest modes of diffusion: what a law leaves of any state after a while,
    and what sensors can tell apart best. Functions that no such law has made (Δu ≠ 0 where u = 0) they approach only algebraically.
    The gradient form is non-negative by construction; −∫φ Δφ with a coarse quadrature is not, and would let growing modes in.
    """
    form = torch.zeros(N.shape[1], N.shape[1], dtype=N.dtype)
    for axis in range(basis.dim):
        slope = N.T @ tabulate(basis, nodes.x, tuple(int(i == axis) for i in range(basis.dim)))
        form += (slope * weights) @ slope.T
    return N @ torch.linalg.eigh(form).eigenvectors[:, :count]


def _orthonormality(basis: Basis, nodes: Location, weights: Tensor, N: Tensor) -> dict[str, float]:
    zero = (0,) * basis.dim
    phi_N = N.T @ tabulate(basis, nodes.x, zero)
    gram = (phi_N * weights) @ phi_N.T
    return {
        "orthonormality": float((gram - torch.eye(N.shape[1], dtype=N.dtype)).abs().max()),
        "N_norm": float(torch.linalg.matrix_norm(N, ord=2)),
    }
