"""Gauss rules on an interval, and how many nodes an oscillation needs.

scipy.special takes a fifth of a second to import, so the functions that need it import it: a problem file is checked without it.
"""

from __future__ import annotations

from functools import cache, lru_cache

import numpy as np

Array = np.ndarray


@cache
def legendre(n: int) -> tuple[Array, Array]:
    """Nodes and weights (n,) of  ∫_0^1 f(u) du."""
    from scipy.special import roots_legendre

    nodes, weights = roots_legendre(n)
    return 0.5 * (1 + nodes), 0.5 * weights


@cache
def jacobi(n: int, at_zero: float, at_one: float = 0.0) -> tuple[Array, Array]:
    """Nodes and weights (n,) of  ∫_0^1 f(u) du  for  f(u) = u^at_zero (1 − u)^at_one · (smooth function)."""
    from scipy.special import roots_jacobi

    nodes, weights = roots_jacobi(n, at_one, at_zero)
    u, v = 0.5 * (1 + nodes), 0.5 * (1 - nodes)
    scale = 0.5 ** (1 + at_zero + at_one)
    return u, scale * weights / (u**at_zero * v**at_one)


@lru_cache(maxsize=256)
def _reach(tolerance: float, largest: int) -> Array:
    """Largest ω that the n-point Legendre rule on [−1, 1] integrates exp(iωξ) for, n = 0, 1, …, largest.

    The first term such a rule gets wrong in  e^{iωξ} = Σ_l (2l+1) i^l j_l(ω) P_l(ξ)  is l = 2n.
    """
    from scipy.special import spherical_jn

    n = np.arange(1, largest + 1)
    low, high = np.zeros(largest), 2.0 * n
    for _ in range(40):  # j_2n grows monotonically up to ω = 2n
        middle = 0.5 * (low + high)
        fine = 2 * (4 * n + 1) * spherical_jn(2 * n, middle) <= tolerance
        low, high = np.where(fine, middle, low), np.where(fine, high, middle)
    return np.concatenate([[0.0], low])


def count_for(omega: Array, tolerance: float) -> Array:
    """Number of Legendre nodes that integrate exp(iωξ) over [−1, 1] within ``tolerance`` (rounded to a decade)."""
    decade = 10.0 ** np.clip(np.floor(np.log10(tolerance)), -15, -1)
    top = float(np.max(omega, initial=0.0))
    largest = 64 * int(np.ceil((top / 2 + 6 * top ** (1 / 3) + 24) / 64))
    return np.maximum(1, np.searchsorted(_reach(float(decade), largest), omega))
