"""The admissible space of a field:  a = a_bc(t) + N z  with  C N = 0  and  NᵀM_ΩN = I.

Symbols (those of the paper): a ∈ R^M ambient coefficients; C boundary rows; Z an orthonormal basis of ker C; M_Ω = Φ W Φᵀ the
mass matrix on Ω; N ∈ R^{M×r} the boundary-adapted coordinates; z ∈ R^r the reduced state; a_bc(t) = C⁺d(t) the lift.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg
import torch
from scipy.linalg import blas, lapack
from torch import Tensor

from gleg_core.algebra.boundary_system import BoundarySystem
from gleg_core.algebra.tables import Tables
from gleg_core.contracts.basis import Basis
from gleg_core.contracts.jet import MultiIndex, unit
from gleg_core.contracts.location import Location
from gleg_core.contracts.transform import Transform
from gleg_core.errors import GeometryError, NumericsError

ALGORITHM = 6
"""Raised when the construction changes, so that cached spaces of an older one are not used."""


_FAR_BELOW = 1e-2
"""Rows of R below this fraction of tau_C cannot change the rank of the boundary system."""
_GRAM_RESOLVES = 5e-14
"""Smallest tau_M for which the mass eigenvalues are taken from the Gram matrix, which rounding makes uncertain by 1e-15 to 1e-14."""
_PROBES, _ITERATIONS = 64, 30
"""Functions whose products are measured, and steps towards the norm of N, for the diagnostics."""
_LEFT_OVER = 0.1
"""Mass that the pivoted factorisation may leave, as a fraction of the mass cut."""


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
    transform: Transform | None = None
    """The basis' fast evaluation at the volume nodes, if it has one."""
    key: str = ""
    """A hash of all that these coordinates depend on; empty if unknown, then nothing made from them is kept."""

    @property
    def r(self) -> int:
        return self.N.shape[1]

    def rotated(self, Q: Tensor) -> AdmissibleSpace:
        """The same space in the coordinates z' = Qᵀz, Q orthogonal."""
        return replace(self, N=self.N @ Q, key="")

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
    basis: Basis,
    nodes: Location,
    weights: Tensor,
    boundary: BoundarySystem,
    thresholds: Thresholds,
    transform: Transform | None = None,
) -> tuple[Tensor, RangeFactors, dict[str, Any]]:
    """N, the factors of C⁺, and diagnostics of the admissible space. ``transform`` evaluates the basis at the nodes, faster than tables."""
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

    def at_nodes(columns: Tensor, alpha: MultiIndex = (0,) * basis.dim) -> Tensor:
        return Tables(basis, columns, nodes.x, transform)(alpha)

    N, mass = _mass_normalised(at_nodes, weights.sqrt().numpy(), Z, thresholds.tau_M, kept, most)
    cut = N.shape[1] - 1
    if thresholds.rank is not None and thresholds.rank < N.shape[1]:
        smooth = smoothest(at_nodes, weights, N[:, kept:], thresholds.rank - kept, basis.dim)
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
        **_orthonormality(at_nodes, weights, N),
    }
    return N, factors, diagnostics


def _svd(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A = U Σ Vᵀ, thin. Divide and conquer is fast but now and then fails on singular values that span all of double precision."""
    try:
        return scipy.linalg.svd(A, full_matrices=False, check_finite=False)
    except np.linalg.LinAlgError:
        return scipy.linalg.svd(A, full_matrices=False, check_finite=False, lapack_driver="gesvd")


def _null_space(
    C: Tensor, scale: Tensor, tau: float, unseen: np.ndarray
) -> tuple[np.ndarray, RangeFactors, np.ndarray, int]:
    """SVD of the scaled rows S C = U Σ Vᵀ: Z = V beyond the numerical rank, the factors of C⁺ up to it.

    Rows outnumber their rank by far, so a QR with column pivoting (SC)ᵀP = QR comes first: it ends where its diagonal has fallen far below
    tau, and the SVD of what remains of R decides the rank. Functions that no row sees (columns that are zero, mask (M,))
    are the first columns of Z, untouched by both.
    """
    M = C.shape[1]
    if C.shape[0] == 0:
        empty = torch.zeros(0, 0, dtype=C.dtype)
        return np.eye(M), RangeFactors(torch.zeros(M, 0, dtype=C.dtype), empty, empty), np.ones(1), 0
    seen = np.flatnonzero(~unseen)
    scaled = np.asfortranarray((scale[:, None] * C).numpy()[:, seen].T)  # (M, N_b)
    qr, pivots, tau_qr, _, _ = lapack.dgeqp3(scaled, overwrite_a=1)
    diagonal = np.abs(np.diag(qr))
    visible = int((diagonal > _FAR_BELOW * tau * diagonal[0]).sum())
    R = np.zeros((visible, C.shape[0]))
    R[:, pivots - 1] = np.triu(qr[:visible])
    W, sigma, Ut = _svd(R)
    rank = int((sigma > tau * sigma[0]).sum())
    if rank == M:
        raise NumericsError(
            f"the boundary conditions fix all {M} coefficients of the basis: raise its resolution (fourier: K, legendre: degree)"
        )
    rotation = np.eye(len(seen), order="F")
    rotation[:visible, :visible] = W
    V = np.zeros((M, len(seen)))
    V[seen] = lapack.dormqr("L", "N", qr[:, :visible], tau_qr[:visible], rotation, lwork=64 * len(seen), overwrite_c=1)[
        0
    ]
    U, s = Ut[:rank].T, sigma[:rank]
    to_theta = (U / s).T * scale.numpy()
    to_data = (U * s).T / scale.numpy()
    factors = (torch.from_numpy(np.ascontiguousarray(a)) for a in (V[:, :rank], to_theta, to_data))
    Z = np.concatenate([np.eye(M)[:, unseen], V[:, rank:]], axis=1)
    return Z, RangeFactors(*factors), sigma, rank


def _mass_normalised(
    at_nodes: Callable[[Tensor], Tensor], root: np.ndarray, Z: np.ndarray, tau_M: float, kept: int, most: int | None
) -> tuple[Tensor, np.ndarray]:
    """N = Z V_r S_r⁻¹ from the singular values s of √W ΦᵀZ (squares: the mass eigenvalues), then orthonormalised once more.

    ``at_nodes`` maps columns (M, k) to values (k, n), ``root`` is √W. The first ``kept`` columns of Z stay in the space as they are: the
    others are made orthogonal to them first. They count among the ``most`` that are kept.

    One pass leaves NᵀM_ΩN = I only to about 1e-16/tau_M (Gram matrix) or 1e-16/√tau_M (singular values); the second restores rounding.
    """
    columns = at_nodes(torch.from_numpy(Z)).numpy() * root
    first, rest = Z[:, :kept], Z[:, kept:]
    values = columns[kept:]
    if kept:
        q = columns[:kept]  # (kept, n)
        overlap = values @ q.T @ np.linalg.inv(q @ q.T)
        rest, values = rest - first @ overlap.T, values - overlap @ q
    s, V = _by_gram(values, tau_M) if tau_M >= _GRAM_RESOLVES else _by_svd(values)
    keep = int((s > np.sqrt(tau_M) * s[0]).sum())
    if most is not None:
        keep = min(keep, most - kept)
    N = np.concatenate([first, rest @ (V[:, :keep] / s[:keep])], axis=1)
    unit = at_nodes(torch.from_numpy(N)).numpy() * root
    again = np.linalg.cholesky(_gram(unit)) if tau_M >= _GRAM_RESOLVES else _triangle(unit).T
    N = scipy.linalg.solve_triangular(again, N.T, lower=True, check_finite=False).T
    return torch.from_numpy(np.ascontiguousarray(N)), s


def _by_svd(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Singular values s and left vectors of (k, n) values; directions down to s/s₁ ≈ 1e-15 stay meaningful."""
    _, s, Vt = _svd(_triangle(values))
    return s, Vt.T


def _by_gram(values: np.ndarray, tau_M: float) -> tuple[np.ndarray, np.ndarray]:
    """The same from the Gram matrix G, with eigenvalues down to about 1e-14 of the largest, several times faster.

    Most of the kernel of C has next to no mass. A pivoted Cholesky factorisation G ≈ L Lᵀ ends where no mass is left; the eigenvalues of
    LᵀL are those of G, and G v = λ v for v = L w/√λ.
    """
    G = _gram(values)
    packed, pivots, rank, _ = lapack.dpstrf(G, tol=_LEFT_OVER * tau_M * float(np.diag(G).max()), lower=1)
    L = np.empty((len(G), rank))
    L[pivots - 1] = np.tril(packed)[:, :rank]
    eigenvalues, W = scipy.linalg.eigh(L.T @ L, check_finite=False, driver="evd")
    eigenvalues, W = eigenvalues[::-1], W[:, ::-1]
    s = np.sqrt(np.maximum(eigenvalues, np.finfo(float).tiny))
    return s, L @ (W / s)


def _gram(values: np.ndarray) -> np.ndarray:
    """values @ valuesᵀ, (k, k)."""
    lower = blas.dsyrk(1.0, values.T, trans=1, lower=1)
    return lower + np.tril(lower, -1).T


def _triangle(values: np.ndarray) -> np.ndarray:
    """R of the QR factorisation of valuesᵀ: (k, n) → (min(k, n), k)."""
    return scipy.linalg.qr(values.T, mode="r", check_finite=False)[0][: min(values.shape)]


def smoothest(
    at_nodes: Callable[[Tensor, MultiIndex], Tensor], weights: Tensor, N: Tensor, count: int, dim: int
) -> Tensor:
    """The ``count`` functions in range(N) with the smallest ∫|∇φ|², smoothest first: N Q, (M, count), NᵀM_ΩN = I kept.

    With Dirichlet or Neumann conditions they approximate the slowest modes of diffusion: what a law leaves of any state after a while,
    and what sensors can tell apart best. Functions that no such law has made (Δu ≠ 0 where u = 0) they approach only algebraically.
    The gradient form is non-negative by construction; −∫φ Δφ with a coarse quadrature is not, and would let growing modes in.
    """
    form = torch.zeros(N.shape[1], N.shape[1], dtype=N.dtype)
    for axis in range(dim):
        slope = at_nodes(N, unit(dim, axis))
        form += (slope * weights) @ slope.T
    return N @ torch.linalg.eigh(form).eigenvectors[:, :count]


def _orthonormality(at_nodes: Callable[[Tensor], Tensor], weights: Tensor, N: Tensor) -> dict[str, float]:
    """|YᵀNᵀM_ΩN Y − I| for some random orthonormal Y (all functions take part, at a small part of the cost); ‖N‖₂ by power iteration."""
    generator = torch.Generator().manual_seed(0)
    Y = torch.linalg.qr(torch.randn(N.shape[1], min(N.shape[1], _PROBES), dtype=N.dtype, generator=generator)).Q
    values = at_nodes(N @ Y)
    v = Y[:, 0]
    for _ in range(_ITERATIONS):
        v = N.T @ (N @ v)
        v = v / v.norm()
    return {
        "orthonormality": float(((values * weights) @ values.T - torch.eye(Y.shape[1], dtype=N.dtype)).abs().max()),
        "N_norm": float((N @ v).norm()),
    }
