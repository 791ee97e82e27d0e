"""Symmetric matrices: products that are known to be symmetric, and eigenvectors."""

import numpy as np
import scipy.linalg
from scipy.linalg import blas

_BLOCK = 64
"""Columns that are moved together."""


def gram(values: np.ndarray) -> np.ndarray:
    """values @ valuesᵀ, (k, k). Values of a transform have their points first in memory."""
    by_points = values.flags.f_contiguous
    return mirrored(blas.dsyrk(1.0, values if by_points else values.T, trans=not by_points, lower=1))


def lower(A: np.ndarray) -> np.ndarray:
    """A (m, k) itself, with zeros above its diagonal. Some columns at a time: ``np.tril`` makes several matrices of its size."""
    for i in range(0, A.shape[1], _BLOCK):
        A[:i, i : i + _BLOCK] = 0.0
        A[i : i + _BLOCK, i : i + _BLOCK] = np.tril(A[i : i + _BLOCK, i : i + _BLOCK])
    return A


def mirrored(A: np.ndarray) -> np.ndarray:
    """A (k, k) itself, with its lower triangle above the diagonal too."""
    for i in range(0, len(A), _BLOCK):
        j = i + _BLOCK
        A[i:j, j:] = A[j:, i:j].T
        A[i:j, i:j] = np.tril(A[i:j, i:j]) + np.tril(A[i:j, i:j], -1).T
    return A


def with_transpose(A: np.ndarray) -> np.ndarray:
    """A + Aᵀ in the place of A (k, k)."""
    for i in range(0, len(A), _BLOCK):
        j = i + _BLOCK
        A[i:j, j:] += A[j:, i:j].T
        A[j:, i:j] = A[i:j, j:].T
        A[i:j, i:j] = A[i:j, i:j] + A[i:j, i:j].T
    return A


def congruent(X: np.ndarray, N: np.ndarray) -> np.ndarray:
    """NᵀXN of a symmetric X: with X = T + Tᵀ, T triangular, it is NᵀTN and its transpose, which takes a third less arithmetic."""
    T = X.copy()
    T[np.diag_indices(len(T))] /= 2
    TN = blas.dtrmm(1.0, T.T, N, lower=1, trans_a=1)  # the upper triangle of T, as it lies in memory
    return with_transpose(N.T @ TN)


def eigenvectors(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, rising, and eigenvectors as columns; only the lower triangle is read. Divide and conquer: a third faster than others."""
    return scipy.linalg.eigh(A, check_finite=False, driver="evd")
