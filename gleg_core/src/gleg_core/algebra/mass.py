"""Coordinates with unit mass: N with C N = 0 and NᵀM_ΩN = I, M_Ω = Σ_q w_q φ(x_q) φ(x_q)ᵀ.

Symbols as in :mod:`gleg_core.algebra.space`. V (M, ρ) are orthonormal directions fixed by the conditions, so ker C is what is orthogonal to
them. ``kept`` is the number of the function that no condition sees (the constant, under conditions on derivatives), or None: it stays in
the space exactly, the others are made orthogonal to it, and what conserves the mean then does so to rounding.
"""

from collections.abc import Callable

import numpy as np
import scipy.linalg
import torch
from scipy.linalg import blas, lapack
from torch import Tensor

from gleg_core.algebra.conditions import svd
from gleg_core.algebra.symmetric import eigenvectors, gram, lower

GRAM_RESOLVES = 5e-14
"""Smallest tau_M for which the mass eigenvalues are taken from the mass matrix, which rounding makes uncertain by 1e-15 to 1e-14."""
_ROUNDING = 2e-14
"""Mass, as a fraction of the largest, that rounding cannot reach by far."""
_LEFT_OVER = 0.1
"""Mass that the pivoted factorisation may leave, as a fraction of the mass cut, where eigenvalues decide after it."""
_PIVOT_CUT = 0.3
"""The same where pivots decide: they cut off as much as eigenvalues above a third of theirs do."""
_ITERATIONS = 6
"""Steps towards the norm of N."""
_SHARE = 0.05
"""Part of the error allowed in integrals that rounding may take."""


def normalised(
    mass_matrix: Callable[[], Tensor],
    at_nodes: Callable[[Tensor], Tensor],
    root: np.ndarray,
    V: np.ndarray,
    tau_M: float,
    kept: int | None,
    most: int | None,
    tolerance: float,
) -> tuple[Tensor, float]:
    """N (M, r), with directions of mass above about tau_M of the largest, at most ``most``; and the condition number of the mass there.

    ``mass_matrix`` gives M_Ω (M, M), ``at_nodes`` maps columns (M, k) to values (k, n), ``root`` is √W. One pass leaves NᵀM_ΩN = I
    only to about ε|Ω|‖n_i‖‖n_j‖ (mass matrix) or ε‖N‖ (singular values). Where that is too much for ``tolerance``, the error allowed in
    integrals, a second one restores rounding.
    """
    if tau_M < GRAM_RESOLVES:
        N, condition = _by_singular_values(at_nodes, root, V, tau_M, kept, most)
        again = np.ones(N.shape[1], dtype=bool)
    else:
        # by pivots ‖N‖ is up to some ten times 1/√tau_M, and values of its functions have errors ε‖N‖
        coarse = most is None and 10.0 * np.finfo(float).eps / np.sqrt(tau_M) <= tolerance
        N, condition = _by_mass_matrix(mass_matrix().numpy(), V, tau_M, kept, most, coarse)
        again = large(N, float(root @ root), tolerance)
    if again.any():
        unit = at_nodes(torch.from_numpy(N[:, again])).numpy()
        unit *= root
        triangle = np.linalg.cholesky(gram(unit)) if tau_M >= GRAM_RESOLVES else _triangle(unit).T
        N[:, again] = scipy.linalg.solve_triangular(triangle, N[:, again].T, lower=True, check_finite=False).T
    return torch.from_numpy(N), condition


def large(N: np.ndarray, measure: float, tolerance: float) -> np.ndarray:
    """Which columns n_i of N are too large for ambient products, (r,): a matrix X of them has rounding errors ε|X|, |X| about the
    ``measure`` of Ω, which in n_iᵀXn_j appear multiplied by ‖n_i‖‖n_j‖. Where that is small beside ``tolerance`` for all j, or for all but
    large j, n_iᵀXn_j is exact enough."""
    size = np.linalg.norm(N, axis=0) * np.sqrt(measure)
    return np.finfo(float).eps * size * size.max(initial=0.0) > _SHARE * tolerance


def norm(N: np.ndarray) -> float:
    """‖N‖₂, slightly less, by power iteration."""
    v = N.T @ N[:, -1]  # the function of the least mass has nearly the largest coefficients
    for _ in range(_ITERATIONS):
        v = N.T @ (N @ v)
        v /= np.linalg.norm(v)
    return float(np.linalg.norm(N @ v))


def _by_mass_matrix(
    mass: np.ndarray, V: np.ndarray, tau_M: float, kept: int | None, most: int | None, coarse: bool
) -> tuple[np.ndarray, float]:
    """N from G = (I − VVᵀ) M_Ω (I − VVᵀ) = M_Ω − V Hᵀ − H Vᵀ, H = M_ΩV − ½V(VᵀM_ΩV), by eigenvectors or, if ``coarse``, by pivots.

    Rounding gives G a mass of 1e-16 λ₁(M_Ω) along V, and leaves traces of V, divided by s, in N, which are taken out at the end. Where the
    conditions leave so little mass that tau_M comes near to that, G = ZᵀM_ΩZ on a basis Z of ker C is used instead.
    """
    MV = mass @ V
    H = MV - 0.5 * V @ (V.T @ MV)
    G = blas.dsyr2k(-1.0, V, H, beta=1.0, c=mass.T, lower=1)
    overlap = np.zeros(len(G))
    if kept is not None:
        overlap[:kept], overlap[kept:] = G[kept, :kept], G[kept:, kept]  # only the lower triangle is there
        G = blas.dsyr(-1.0 / overlap[kept], overlap, lower=1, a=G, overwrite_a=1)
    if tau_M * np.diag(G).max() < _ROUNDING * np.diag(mass).max():
        Z = _kernel(V, kept)
        G = Z.T @ (mass @ Z)
        if kept is not None:
            G -= np.outer(Z.T @ overlap, overlap @ Z) / overlap[kept]
        v, condition = _eigenvectors(G, tau_M, kept, most)
        return _with_kept(Z @ v, kept, overlap), condition
    if coarse:
        N, condition = _by_pivots(G, V, tau_M)
    else:
        N, condition = _eigenvectors(G, tau_M, kept, most)
        N -= V @ (V.T @ N)
    return _with_kept(N, kept, overlap), condition


def _by_pivots(G: np.ndarray, V: np.ndarray, tau_M: float) -> tuple[np.ndarray, float]:
    """N = (I − VVᵀ) E L⁻ᵀ from the pivoted Cholesky factorisation EᵀGE = L Lᵀ of G (lower triangle), E the columns of the unit matrix that
    it chose: NᵀGN = I. No eigenproblem, at the price of a norm of N some times larger."""
    packed, pivots, rank, _ = lapack.dpstrf(G, tol=_PIVOT_CUT * tau_M * float(np.diag(G).max()), lower=1, overwrite_a=1)
    chosen = pivots[:rank] - 1
    pivot = np.diag(packed)[:rank]
    X = lower(lapack.dtrtri(np.asfortranarray(packed[:rank, :rank]), lower=1, overwrite_c=1)[0]).T
    N = np.zeros((len(V), rank))
    N[chosen] = X
    blas.dgemm(-1.0, (V[chosen].T @ X).T, V.T, beta=1.0, c=N.T, overwrite_c=1)  # Nᵀ −= (VᵀEX)ᵀVᵀ
    return N, float((pivot[0] / pivot[-1]) ** 2)


def _eigenvectors(G: np.ndarray, tau_M: float, kept: int | None, most: int | None) -> tuple[np.ndarray, float]:
    """v/s for the largest eigenvalues s² of G (lower triangle), G v = s²v, and the ratio of the largest to the smallest of them.

    Most of the kernel of C has next to no mass. A pivoted Cholesky factorisation G ≈ L Lᵀ ends where no mass is left; the eigenvalues of
    LᵀL are those of G, and v = L w/s.
    """
    tol = _LEFT_OVER * tau_M * float(np.diag(G).max())
    packed, pivots, rank, _ = lapack.dpstrf(G, tol=tol, lower=1, overwrite_a=1)
    L = np.empty((len(packed), rank))
    L[pivots - 1] = lower(packed[:, :rank])
    eigenvalues, W = eigenvectors(gram(L.T))
    s = np.sqrt(np.maximum(eigenvalues[::-1], np.finfo(float).tiny))
    keep = _count(s, tau_M, kept, most)
    return L @ (W[:, ::-1][:, :keep] / s[:keep] ** 2), _condition(s, keep)


def _kernel(V: np.ndarray, kept: int | None) -> np.ndarray:
    """Z: an orthonormal basis of ker C, without the function ``kept``."""
    fixed = V if kept is None else np.column_stack([np.eye(len(V))[:, kept], V])
    return scipy.linalg.qr(fixed, check_finite=False)[0][:, fixed.shape[1] :]


def _by_singular_values(
    at_nodes: Callable[[Tensor], Tensor],
    root: np.ndarray,
    V: np.ndarray,
    tau_M: float,
    kept: int | None,
    most: int | None,
) -> tuple[np.ndarray, float]:
    """The same from the singular values s of √W ΦᵀZ: slower, but directions down to s/s₁ ≈ 1e-15 stay meaningful."""
    Z = _kernel(V, kept)
    values = at_nodes(torch.from_numpy(np.ascontiguousarray(Z))).numpy() * root
    overlap = np.zeros(len(Z))
    if kept is not None:
        q = at_nodes(torch.eye(len(V), dtype=torch.float64)[:, kept : kept + 1]).numpy()[0] * root
        overlap = Z @ (values @ q)
        overlap[kept] = q @ q
        values = values - np.outer(values @ q, q) / (q @ q)
    _, s, Wt = svd(_triangle(values))
    keep = _count(s, tau_M, kept, most)
    return _with_kept(Z @ (Wt[:keep].T / s[:keep]), kept, overlap), _condition(s, keep)


def _count(s: np.ndarray, tau_M: float, kept: int | None, most: int | None) -> int:
    """How many of the directions with mass s² are kept."""
    count = int((s > np.sqrt(tau_M) * s[0]).sum())
    return count if most is None else min(count, most - (kept is not None))


def _condition(s: np.ndarray, keep: int) -> float:
    """Of the mass on the directions that are kept."""
    return float((s[0] / s[max(keep, 1) - 1]) ** 2)


def _with_kept(N: np.ndarray, kept: int | None, overlap: np.ndarray) -> np.ndarray:
    """The function ``kept`` with unit mass in front of N, the others made orthogonal to it; ``overlap`` (M,): its products with all."""
    if kept is None:
        return N
    N[kept] -= overlap @ N / overlap[kept]
    return np.column_stack([np.eye(len(N))[:, kept] / np.sqrt(overlap[kept]), N])


def _triangle(values: np.ndarray) -> np.ndarray:
    """R of the QR factorisation of valuesᵀ: (k, n) → (min(k, n), k)."""
    return scipy.linalg.qr(values.T, mode="r", check_finite=False)[0][: min(values.shape)]
