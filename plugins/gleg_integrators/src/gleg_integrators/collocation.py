"""Exponential collocation for ż = A z + n(z, t): all stages of a step are evaluated together.

n along the solution is replaced by the polynomial through its values at m Gauss–Lobatto points c_1 = 0, …, c_m = 1 of the step, and the
equation is solved exactly for it. With n(t + τh) ≈ Σ_k a_k τ^k, a = V⁻¹n, V_jk = c_j^k,

    Z_i = e^{c_i hA} z + h Σ_k k! c_i^{k+1} φ_{k+1}(c_i hA) a_k = e^{c_i hA} z + Σ_j w_ij(hA) n(Z_j, t + c_j h).

The stages are iterated from e^{c_i hA} z (Picard). Every sweep costs one evaluation of n at all stages, which are matrix–matrix products
where one stage after the other has matrix–vector products, and gains one order, up to 2m − 2; where n is mostly forcing two sweeps are
enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from gleg_core.contracts.integrator import Integrator, LinearPart, SplitSystem, Stepper
from gleg_integrators.params import CollocationParams

Combine = Callable[[Tensor], Tensor]
"""n at the m stages, (m, ..., R) → Σ_j w_ij n_j at the stages after the first, (m − 1, ..., R)."""


def lobatto(m: int) -> np.ndarray:
    """The m Gauss–Lobatto points on [0, 1]: both ends, and the zeros of P'_{m−1}."""
    inner = np.polynomial.legendre.Legendre.basis(m - 1).deriv().roots()
    return (1 + np.array([-1.0, *np.sort(inner.real), 1.0])) / 2


class ExponentialCollocation(Integrator):
    """m stages, s sweeps. The error estimate is what the last sweep changed, and what the highest Legendre coefficient of n would give if
    its part did not change sign: that cancels over a step where A is not stiff, and would hide forcing that is not resolved."""

    embedded = True

    def __init__(self, params: CollocationParams) -> None:
        self._c, self._sweeps = lobatto(params.stages), params.sweeps
        self.nodes = tuple(self._c.tolist())
        self.order = min(params.sweeps, 2 * params.stages - 2)

    def stepper(self, system: SplitSystem, h: float) -> Stepper:
        linear, c = system.linear, self._c
        decays = [linear.phi(0, float(ci) * h) for ci in c[1:]]
        combine = _combine(linear, c, h)
        share = _highest_part(c)

        def step(z: Tensor, t: float) -> tuple[Tensor, Tensor]:
            times = (t + h * torch.from_numpy(c))[:, None]
            free = torch.stack([decay(z) for decay in decays])
            n = _responses(system, torch.cat([z[None], free]), times)
            states = free
            for _ in range(self._sweeps - 1):
                states = free + combine(n)
                n = torch.cat([n[:1], _responses(system, states, times[1:])])
            highest = torch.einsum("j,j...->...", share, n)
            new = (free + combine(n))[-1]
            tail = combine(highest.expand(n.shape))[-1]
            return new, (new - states[-1]).abs() + tail.abs()

        return step


def _responses(system: SplitSystem, states: Tensor, times: Tensor) -> Tensor:
    """n at states (m, ..., R) and times (m, 1): together if each is a single state, else one batch after the other."""
    if states.ndim == 2:
        return system.nonlinear(states, times)
    return torch.stack([system.nonlinear(z, float(t)) for z, t in zip(states, times, strict=True)])


def _combine(linear: LinearPart, c: np.ndarray, h: float) -> Combine:
    """The weights w_ij(hA): a table (m − 1, m, ..., R) if A is diagonal, else sums of operators φ_{k+1}(c_i hA)."""
    stages = range(len(c))
    powers = torch.from_numpy(
        np.linalg.inv(np.vander(c, increasing=True))
    )  # values at the points → coefficients of τ^k
    rows = [
        [(h * math.factorial(k) * float(ci) ** (k + 1), linear.phi(k + 1, float(ci) * h)) for k in stages]
        for ci in c[1:]
    ]

    def applied(a: Sequence[Tensor]) -> Tensor:
        """h k! c_i^{k+1} φ_{k+1}(c_i hA) a_k for all i and k, (m − 1, m, ..., R)."""
        return torch.stack([torch.stack([f * phi(a[k]) for k, (f, phi) in enumerate(row)]) for row in rows])

    if linear.eigenvalues is None:
        return lambda n: applied(torch.einsum("kj,j...->k...", powers, n).unbind()).sum(dim=1)
    weights = torch.einsum("ik...,kj->ij...", applied([torch.ones_like(linear.eigenvalues)] * len(c)), powers)

    def combine(n: Tensor) -> Tensor:
        batch = (1,) * (n.ndim + 1 - weights.ndim)  # dimensions of n that the eigenvalues do not have
        return (weights.reshape(*weights.shape[:2], *batch, *weights.shape[2:]) * n).sum(dim=1)

    return combine


def _highest_part(c: np.ndarray) -> Tensor:
    """The weights (m,) that give the coefficient of P_{m−1} in the polynomial through values at the points."""
    return torch.from_numpy(np.linalg.inv(np.polynomial.legendre.legvander(2 * c - 1, len(c) - 1))[-1])
