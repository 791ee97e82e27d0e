"""Explicit Runge–Kutta methods for ż = f(z, t):

k_i = f(z + h Σ_j a_ij k_j, t + c_i h),   z⁺ = z + h Σ_i b_i k_i.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction as F

from torch import Tensor

from gleg_core.contracts.integrator import Integrator, SplitSystem, Stepper
from gleg_integrators.combine import add, nonzero
from gleg_integrators.params import NoParams

Field = Callable[[Tensor, float], Tensor]
Flow = Callable[[Tensor, float], Tensor]
"""(z, t) → z after some time, where t is the start of the step the flow is a part of."""


@dataclass(frozen=True)
class ExplicitTable:
    """Butcher table of an explicit method; row i of ``a`` has i entries."""

    c: tuple[F, ...]
    a: tuple[tuple[F, ...], ...]
    b: tuple[F, ...]


RK4 = ExplicitTable(  # Kutta (1901)
    c=(F(0), F(1, 2), F(1, 2), F(1)),
    a=((), (F(1, 2),), (F(0), F(1, 2)), (F(0), F(0), F(1))),
    b=(F(1, 6), F(1, 3), F(1, 3), F(1, 6)),
)
HEUN = ExplicitTable(c=(F(0), F(1)), a=((), (F(1),)), b=(F(1, 2), F(1, 2)))  # Heun (1900)


def nodes_within(table: ExplicitTable, start: F, width: F) -> tuple[float, ...]:
    """Abscissae of a substep over [start, start + width] of a step of length 1."""
    return tuple(float(start + c * width) for c in table.c)


def explicit_flow(table: ExplicitTable, field: Field, h: float, start: F = F(0), width: F = F(1)) -> Flow:
    """One substep over [t + start·h, t + (start + width)·h]."""
    nodes = nodes_within(table, start, width)
    rows = [nonzero(row, float(width) * h) for row in table.a]
    weights = nonzero(table.b, float(width) * h)

    def flow(z: Tensor, t: float) -> Tensor:
        slopes: list[Tensor] = []
        for c, row in zip(nodes, rows, strict=True):
            slopes.append(field(add(z, row, slopes), t + c * h))
        return add(z, weights, slopes)

    return flow


class RungeKutta4(Integrator):
    """The classical method of order 4 (Kutta 1901) for the whole right-hand side, linear part included."""

    order = 4
    nodes = (0.0, 0.5, 1.0)

    REACH = 2.615
    """The half disk |w| ≤ 2.615, Re w ≤ 0, lies in the stability region, which ends at −2.785 and ±2.828 i."""

    def __init__(self, params: NoParams) -> None:
        self.params = params

    def stepper(self, system: SplitSystem, h: float) -> Stepper:
        flow = explicit_flow(RK4, system.rhs, h)
        return lambda z, t: (flow(z, t), None)

    def stable_step(self, system: SplitSystem) -> float:
        radius = system.linear.radius
        return self.REACH / radius if radius > 0 else float("inf")
