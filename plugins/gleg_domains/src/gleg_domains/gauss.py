"""Gauss rules on an interval, and how many nodes an oscillation needs.

scipy.special takes a fifth of a second to import, so the functions that need it import it: a problem file is checked without it.
"""

from functools import cache

import numpy as np

Array = np.ndarray


@cache
def legendre(n: int) -> tuple[Array, Array]:
    """Nodes and weights (n,) of  ∫_0^1 f(u) du:  u = sin²(θ/2) with P_n(cos θ) = 0, w = 1/(dP_n/dθ)²."""
    from scipy.special import eval_legendre

    theta = np.pi * (np.arange((n + 1) // 2) + 0.75) / (n + 0.5)
    for _ in range(4):  # Newton's method from within 2 % of the distance of two nodes
        x = np.cos(theta)
        value = eval_legendre(n, x)
        slope = n * (x * value - eval_legendre(n - 1, x)) / np.sin(theta)
        theta = theta - value / slope
    u, w, odd = np.sin(0.5 * theta) ** 2, slope**-2.0, n % 2
    u, w = np.concatenate([u, 1 - u[::-1][odd:]]), np.concatenate([w, w[::-1][odd:]])
    return u, w / w.sum()


def even(n: int) -> tuple[Array, Array]:
    """Nodes and weights (n,) of  ∫_0^1 f(u) du  for even f with f(0) = 0: the right half of the rule with 2n + 1 nodes on [−1, 1]."""
    u, w = legendre(2 * n + 1)
    return 2 * u[n + 1 :] - 1, 2 * w[n + 1 :]


@cache
def jacobi(n: int, at_zero: float, at_one: float = 0.0) -> tuple[Array, Array]:
    """Nodes and weights (n,) of  ∫_0^1 f(u) du  for  f(u) = u^at_zero (1 − u)^at_one · (smooth function)."""
    from scipy.special import roots_jacobi

    nodes, weights = roots_jacobi(n, at_one, at_zero)
    u, v = 0.5 * (1 + nodes), 0.5 * (1 - nodes)
    scale = 0.5 ** (1 + at_zero + at_one)
    return u, scale * weights / (u**at_zero * v**at_one)


def count_for(omega: Array, tolerance: Array | float) -> Array:
    """Number of Legendre nodes that integrate exp(iωξ) over [−1, 1] within ``tolerance`` (between 1e-15 and 0.1), shape (n,).

    Of  e^{iωξ} = Σ_l (2l+1) i^l j_l(ω) P_l(ξ)  the rule with n nodes gets l = 2n wrong first, by (4n+1) j_2n(ω) |Q_n P_2n| where its sum
    |Q_n P_2n| tends to 1.25/√n; the terms after it add a tenth. With Debye's form of j_2n beyond its turning point,
    ν = 2n + 1/2 > ω, cosh α = ν/ω,

        error(ν) = 2 √(ν/ω) exp(ν (tanh α − α)) / √(ν tanh α).

    Its logarithm is concave and falls with the slope −α or faster: steps of Newton's method from the right stay on the right.
    """
    omega = np.maximum(omega, 1e-8)
    digits = -np.log(np.clip(tolerance, 1e-15, 0.1))
    nu = omega + digits + 1.2 * np.cbrt(omega * (digits + 1) ** 2) + 1
    for _ in range(5):
        root = np.sqrt(nu**2 - omega**2)
        alpha = np.arccosh(nu / omega)
        excess = np.log(2 * np.sqrt(nu / (omega * root))) + root - nu * alpha + digits
        nu = nu + excess / alpha
    return np.maximum(1, np.ceil(0.5 * nu - 0.25)).astype(int)
