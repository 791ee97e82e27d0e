"""Strang splitting (Strang 1968): the flow of n for h/2, the flow of A for h, the flow of n for h/2."""

from fractions import Fraction as F

from torch import Tensor

from gleg_core.contracts.integrator import Integrator, LinearPart, Operator, SplitSystem, Stepper
from gleg_integrators.params import StrangParams
from gleg_integrators.runge_kutta import HEUN, RK4, explicit_flow, nodes_within

TABLES = {"rk4": RK4, "heun": HEUN}


class Strang(Integrator):
    """z⁺ = S_n(h/2) S_A(h) S_n(h/2) z, order 2. Time runs with n: first over [t, t + h/2], then over [t + h/2, t + h].

    The order drops to about 1¼ where n does not vanish on the boundary as states do; prefer an unsplit method there.
    """

    order = 2

    def __init__(self, params: StrangParams) -> None:
        self.params = params
        self.table = TABLES[params.nonlinear]
        self.width = F(1, 2 * params.substeps)
        starts = [i * self.width for i in range(2 * params.substeps)]
        self.halves = (starts[: params.substeps], starts[params.substeps :])
        self.nodes = tuple(sorted({c for start in starts for c in nodes_within(self.table, start, self.width)}))

    def stepper(self, system: SplitSystem, h: float) -> Stepper:
        first, second = (
            [explicit_flow(self.table, system.nonlinear, h, start, self.width) for start in half]
            for half in self.halves
        )
        linear = system.linear.phi(0, h) if self.params.linear == "exact" else cayley(system.linear, h)

        def step(z: Tensor, t: float) -> tuple[Tensor, None]:
            for flow in first:
                z = flow(z, t)
            z = linear(z)
            for flow in second:
                z = flow(z, t)
            return z, None

        return step


def cayley(linear: LinearPart, h: float) -> Operator:
    """Crank–Nicolson for ż = A z:  (I − ½hA)^{-1}(I + ½hA) = 2 (I − ½hA)^{-1} − I."""
    resolvent = linear.resolvent(h / 2)
    return lambda z: 2.0 * resolvent(z) - z
