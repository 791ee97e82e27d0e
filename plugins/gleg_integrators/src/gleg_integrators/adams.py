"""Exponential Adams methods for ż = A z + n(z, t) (Nørsett 1969; Hochbruck & Ostermann 2011): one evaluation of n in a step.

n is replaced by the polynomial through its last s values, and the step is exact for it. With n(t + τh) ≈ Σ_j a_j τ^j, 0 ≤ τ ≤ 1,

    z⁺ = e^{hA} z + h Σ_{j<s} j! φ_{j+1}(hA) a_j,    a = V⁻¹ (n_0, n_{−1}, …),  V_ij = (−i)^j.

The order is s, also for stiff A. The first s − 1 steps are those of the fourth-order exponential Runge–Kutta method, extrapolated from
steps h and h/2 to order 5, which costs a start no order up to s = 6.
"""

import math

import torch
from torch import Tensor

from gleg_core.contracts.integrator import Integrator, SplitSystem, Stepper
from gleg_integrators.combine import nonzero
from gleg_integrators.etdrk import Etdrk4
from gleg_integrators.exponential import add_terms
from gleg_integrators.multistep import MultistepSteps
from gleg_integrators.params import Etdrk4Params, NoParams


class ExponentialAdams(Integrator):
    """Exponential Adams–Bashforth method of order s. A step that does not follow the last one starts anew."""

    nodes = (0.0,)
    starting_nodes = (0.25, 0.5, 0.75, 1.0)

    def __init__(self, params: NoParams) -> None:
        self._starter = Etdrk4(Etdrk4Params(scheme="hochbruck-ostermann"))

    def stepper(self, system: SplitSystem, h: float) -> Stepper:
        s, linear = self.order, system.linear
        decay = linear.phi(0, h)
        past = -torch.arange(s, dtype=torch.float64)
        powers = torch.linalg.inv(torch.vander(past, s, increasing=True)).tolist()  # values → coefficients of τ^j
        rows = [(linear.phi(j + 1, h), nonzero(powers[j], h * math.factorial(j))) for j in range(s)]
        whole, half = (self._starter.stepper(system, length) for length in (h, h / 2))

        def start(z: Tensor, t: float) -> Tensor:
            fine = half(half(z, t)[0], t + h / 2)[0]
            return fine + (fine - whole(z, t)[0]) / 15

        return MultistepSteps(h, s, system.nonlinear, start, lambda z, t, n: add_terms(decay(z), rows, n))


class ExponentialAdams4(ExponentialAdams):
    """Order 4."""

    order = 4


class ExponentialAdams6(ExponentialAdams):
    """Order 6."""

    order = 6
