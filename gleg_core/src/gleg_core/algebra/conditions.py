"""The conditions C a = 0: directions that they fix, and the lift of data along them."""

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import torch
from scipy.linalg import lapack
from torch import Tensor

_FAR_BELOW = 1e-2
"""Rows of R below this fraction of tau_C cannot change the rank of the boundary system."""
_BLOCK = 64
"""Reflectors that LAPACK applies together, if it is given room for them."""


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


def svd(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A = U Σ Vᵀ, thin. Divide and conquer is fast but now and then fails on singular values that span all of double precision; it mostly
    does not on a triangle whose rows pivots have sorted by size, AP = QR, and what never fails takes ten times as long."""
    for method in (_divide_and_conquer, _after_pivots):
        try:
            return method(A)
        except np.linalg.LinAlgError:
            pass
    return scipy.linalg.svd(A, full_matrices=False, check_finite=False, lapack_driver="gesvd")


def _divide_and_conquer(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return scipy.linalg.svd(A, full_matrices=False, check_finite=False)


def _after_pivots(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    Q, R, pivots = scipy.linalg.qr(A, mode="economic", pivoting=True, check_finite=False)
    V, s, Ut = _divide_and_conquer(R.T)
    Vt = np.empty_like(V.T)
    Vt[:, pivots] = V.T
    return Q @ Ut.T, s, Vt


def range_factors(C: Tensor, scale: Tensor, tau: float) -> tuple[RangeFactors, np.ndarray]:
    """The factors of C⁺ up to the numerical rank of the scaled rows S C = U Σ Vᵀ, and all singular values that were found.

    Rows outnumber their rank by far, so a QR with column pivoting, (SC)ᵀ = Q₁Q₂RPᵀ, comes first: it ends where its diagonal has fallen
    far below tau, and the SVD of what remains of R decides the rank. Pivots cost matrix–vector products, so they are chosen among the
    columns of a first triangle, that of (SC)ᵀ = Q₁R₁, which is smaller. Functions that no row sees (the constant, under conditions on
    derivatives) take no part, so that V is exactly zero there: rounding would leave ε/σ.
    """
    rows, M = C.shape
    if rows == 0:
        empty = torch.zeros(0, 0, dtype=C.dtype)
        return RangeFactors(torch.zeros(M, 0, dtype=C.dtype), empty, empty), np.ones(0)
    seen = (C != 0).any(dim=0).numpy()
    scaled = (scale[:, None] * C).numpy().T
    columns = np.array(scaled if seen.all() else scaled[seen], order="F")
    first, tau_first, *_ = lapack.dgeqrf(columns, lwork=_BLOCK * rows, overwrite_a=1)
    smaller = min(first.shape)
    second, pivots, tau_second, *_ = lapack.dgeqp3(np.asfortranarray(np.triu(first[:smaller])), overwrite_a=1)
    diagonal = np.abs(np.diag(second))
    visible = int((diagonal > _FAR_BELOW * tau * diagonal[0]).sum())
    R = np.zeros((visible, rows))
    R[:, pivots - 1] = np.triu(second[:visible])
    W, sigma, Ut = svd(R)
    rank = int((sigma > tau * sigma[0]).sum())
    directions = _rotated(second[:, :visible], tau_second[:visible], W[:, :rank])
    V = np.zeros((M, rank))
    V[seen] = _rotated(first[:, :smaller], tau_first, directions)
    U, s = Ut[:rank].T, sigma[:rank]
    to_theta = (U / s).T * scale.numpy()
    to_data = (U * s).T / scale.numpy()
    return RangeFactors(*(torch.from_numpy(np.ascontiguousarray(a)) for a in (V, to_theta, to_data))), sigma


def _rotated(reflectors: np.ndarray, tau: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Q times ``columns`` (k, c), padded with zeros, for the Q of a factorisation by LAPACK of m rows: (m, c)."""
    padded = np.zeros((len(reflectors), columns.shape[1]), order="F")
    padded[: len(columns)] = columns
    return lapack.dormqr("L", "N", reflectors, tau, padded, lwork=_BLOCK * max(1, columns.shape[1]), overwrite_c=1)[0]
