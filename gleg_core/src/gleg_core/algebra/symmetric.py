"""Symmetric matrices: products that are known to be symmetric, and eigenvectors."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from scipy.linalg import blas


def gram(values: np.ndarray) -> np.ndarray:
    """values @ valuesᵀ, (k, k). Values of a transform have their points first in memory."""
    by_points = values.flags.f_contiguous
    lower = blas.dsyrk(1.0, values if by_points else values.T, trans=not by_points, lower=1)
    return lower + np.tril(lower, -1).T


def congruent(X: np.ndarray, N: np.ndarray) -> np.ndarray:
    """NᵀXN of a symmetric X: with X = T + Tᵀ, T triangular, it is NᵀTN and its transpose, which takes a third less arithmetic."""
    T = X.copy()
    T[np.diag_indices(len(T))] /= 2
    TN = blas.dtrmm(1.0, T.T, N, lower=1, trans_a=1)  # the upper triangle of T, as it lies in memory
    half = N.T @ TN
    return half + half.T


def eigenvectors(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, rising, and eigenvectors as columns; only the lower triangle is read. Divide and conquer: a third faster than others."""
    return scipy.linalg.eigh(A, check_finite=False, driver="evd")
