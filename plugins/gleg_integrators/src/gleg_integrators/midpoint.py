"""Implicit midpoint rule:  U = z + ½h [A U + n(U, t + ½h)],  z⁺ = 2U − z.

Order 2, symmetric, A-stable; conserves quadratic invariants of the system (Cooper 1987) to the tolerance of the solve.
"""

import math

import torch
from torch import Tensor

from gleg_core.contracts.integrator import Integrator, SplitSystem, Stepper
from gleg_core.errors import NumericsError
from gleg_integrators.params import ImplicitMidpointParams


class ImplicitMidpoint(Integrator):
    """Solved by  U ← (I − ½hA)^{-1} [z + ½h n(U, t + ½h)],  which converges if h times the slope of n is below 2."""

    order = 2
    nodes = (0.5,)

    def __init__(self, params: ImplicitMidpointParams) -> None:
        self.params = params

    def stepper(self, system: SplitSystem, h: float) -> Stepper:
        resolvent = system.linear.resolvent(h / 2)
        tolerance, iterations = self.params.tolerance, self.params.iterations

        def step(z: Tensor, t: float) -> tuple[Tensor, None]:
            middle, change = z, float("inf")
            for _ in range(iterations):
                previous, middle = middle, resolvent(z.add(system.nonlinear(middle, t + 0.5 * h), alpha=0.5 * h))
                change = _relative_change(middle, previous)
                if change <= tolerance:
                    return 2.0 * middle - z, None
                if not math.isfinite(change):
                    break
            raise NumericsError(
                f"the implicit midpoint rule did not converge at t = {t:g} with step {h:g}: "
                f"relative change {change:.1e} after at most {iterations} iterations, {tolerance:.1e} is wanted. "
                "Use a smaller step."
            )

        return step


def _relative_change(new: Tensor, old: Tensor) -> float:
    """The largest over the batch of max|new − old| / max|new|."""
    if new.numel() == 0:
        return 0.0
    with torch.no_grad():
        size = new.abs().amax(-1).clamp_min(torch.finfo(new.dtype).tiny)
        return float(((new - old).abs().amax(-1) / size).max())
