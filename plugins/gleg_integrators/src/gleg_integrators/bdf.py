"""Implicit–explicit backward differentiation for ż = A z + n(z, t) (Hundsdorfer & Ruuth 2007): one evaluation of n, one solution a step.

The derivative at t + h is that of the polynomial through z⁺ and the last s states, n that of the state z* they extrapolate to:

    Σ_{j≤s} α_j z_{1−j} = h A z_1 + h n(z*, t + h),    z* = Σ_{1≤j≤s} γ_j z_{1−j},    Σ_j α_j p(−j) = p'(0),  Σ_j γ_j q(−j) = q(0)

for all polynomials p of degree s, q of degree s − 1; z_1 = z⁺, z_0 = z. The first s − 1 steps are those of an implicit–explicit Runge–Kutta
method of order 3, or 4 for s = 5: a few steps of order s − 1 cost no order.
"""

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from gleg_core.contracts.integrator import Integrator, SplitSystem, Stepper, weak_form
from gleg_integrators.ascher_ruuth_spiteri import ImexArs443
from gleg_integrators.combine import nonzero, weighted
from gleg_integrators.kennedy_carpenter import ImexArk4
from gleg_integrators.multistep import MultistepSteps
from gleg_integrators.params import ImexBdfParams, NoParams


class ImexBdf(Integrator):
    """Method of order s."""

    nodes = (1.0,)

    def __init__(self, params: ImexBdfParams) -> None:
        self.order = params.order
        self._starter = (ImexArs443 if params.order <= 4 else ImexArk4)(NoParams())
        self.starting_nodes = tuple(c for c in self._starter.nodes if c != 1.0)

    def stepper(self, system: SplitSystem, h: float) -> Stepper:
        s = self.order
        moments = np.vander(-np.arange(s + 1.0), increasing=True).T  # row m: (−j)^m
        alpha = np.linalg.solve(moments, np.eye(s + 1)[1])
        past = nonzero(alpha[1:], -1.0 / alpha[0])
        extrapolate = nonzero(np.linalg.solve(moments[:s, 1:], np.eye(s)[0]))
        g = h / float(alpha[0])
        weak = weak_form(system)
        solve = weak.solution(g)
        first = self._starter.stepper(system, h)

        def follow(z: Tensor, t: float, states: Sequence[Tensor]) -> Tensor:
            load = weak.load(weighted(extrapolate, states), t + h)
            return solve(weak.mass(weighted(past, states)).add(load, alpha=g))

        return MultistepSteps(h, s, lambda z, t: z, lambda z, t: first(z, t)[0], follow)
