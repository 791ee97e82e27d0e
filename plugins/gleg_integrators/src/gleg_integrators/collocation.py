"""Exponential collocation for ż = A z + n(z, t): all stages of a step are evaluated together.

n along the solution is replaced by the polynomial through its values at m Gauss–Lobatto points c_1 = 0, …, c_m = 1 of the step, and the
equation is solved exactly for it. With n(t + τh) ≈ Σ_k a_k τ^k, a = V⁻¹n, V_jk = c_j^k,

    Z_i = e^{c_i hA} z + h Σ_k k! c_i^{k+1} φ_{k+1}(c_i hA) a_k = e^{c_i hA} z + Σ_j w_ij(hA) n(Z_j, t + c_j h).

The stages are iterated from e^{c_i hA} z (Picard). Every sweep costs one evaluation of n at all stages, which are matrix–matrix products
where one stage after the other has matrix–vector products, and gains one order, up to 2m − 2; where n is mostly forcing two sweeps are
enough. ``sweeps: auto`` goes on until their part of the error estimate is small beside the rest.
"""

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
    """m stages, s sweeps. The error estimate has two parts. What the last sweep changed, times the root of the factor by which the changes
    fell (the error follows that factor, in stiff problems not all the way). And what the first Legendre coefficient of n that is left out
    would give if its part did not change sign; its size follows from the last two and how far they fell from the two before: where
    forcing is too fast for the step they did not."""

    embedded = True

    def __init__(self, params: CollocationParams) -> None:
        self._c = lobatto(params.stages)
        self._enough = params.sweeps == "auto"
        self._sweeps = 12 if params.sweeps == "auto" else params.sweeps  # at most: the estimate then shortens the step
        self.nodes = tuple(self._c.tolist())
        self.order = params.stages if params.sweeps == "auto" else min(params.sweeps, 2 * params.stages - 2)

    def stepper(self, system: SplitSystem, h: float) -> Stepper:
        linear, c = system.linear, self._c
        decays = [linear.phi(0, float(ci) * h) for ci in c[1:]]
        combine = _combine(linear, c, h)
        legendre = torch.from_numpy(np.linalg.inv(np.polynomial.legendre.legvander(2 * c - 1, len(c) - 1)))

        def tail(n: Tensor) -> Tensor:
            """What the first coefficient of n that is left out may contribute, (..., R)."""
            coefficients = torch.einsum("kj,j...->k...", legendre, n)
            last, before = (part.abs() for part in (coefficients[-2:], coefficients[-4:-2]))
            left_out = last.amax(dim=0)
            if len(before):
                left_out = left_out * _fell(left_out, before.amax(dim=0))
            return combine(left_out.expand(n.shape))[-1].abs()

        def step(z: Tensor, t: float) -> tuple[Tensor, Tensor]:
            times = (t + h * torch.from_numpy(c))[:, None]
            free = torch.stack([decay(z) for decay in decays])
            states, change = free, None
            n = _responses(system, torch.cat([z[None], free]), times)
            for sweep in range(1, self._sweeps + 1):
                before, states = states, free + combine(n)
                last = states[-1] - before[-1]
                unfinished = last.abs() * (1.0 if change is None else _fell(_size(last), _size(change)).sqrt())
                if sweep == self._sweeps or (self._enough and _small(unfinished, tail(n))):
                    break
                change = last
                n = torch.cat([n[:1], _responses(system, states, times[1:])])
            return states[-1], unfinished + tail(n)

        return step


def _size(z: Tensor) -> Tensor:
    return z.norm(dim=-1, keepdim=True)


def _small(error: Tensor, beside: Tensor) -> bool:
    """For every state of a batch, as one number says when all of them are done."""
    return bool((_size(error) <= 0.2 * _size(beside)).all())


def _fell(size: Tensor, before: Tensor) -> Tensor:
    """size/before, at most 1."""
    return (size / before.clamp(min=1e-300)).clamp(max=1.0)


def _responses(system: SplitSystem, states: Tensor, times: Tensor) -> Tensor:
    """n at states (m, ..., R) and times (m, 1): together if each is a single state, else one batch after the other."""
    if states.ndim == 2:
        return system.nonlinear(states, times)
    return torch.stack([system.nonlinear(z, float(t)) for z, t in zip(states, times, strict=True)])


def _combine(linear: LinearPart, c: np.ndarray, h: float) -> Combine:
    """The weights w_ij(hA): a table (m − 1, m, ..., R) if A is diagonal, else sums of operators φ_{k+1}(c_i hA)."""
    stages = range(len(c))
    powers = torch.from_numpy(np.linalg.inv(np.vander(c, increasing=True)))  # values → coefficients of τ^k
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
