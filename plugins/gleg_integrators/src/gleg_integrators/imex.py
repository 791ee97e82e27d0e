"""Implicit–explicit Runge–Kutta methods for ż = A z + n(z, t): A implicit, n explicit.

    (I − h ã_ii A) U_i = z + h Σ_{j<i} (ã_ij A U_j + a_ij n_j),   n_j = n(U_j, t + c_j h),
    z⁺ = U_s + h Σ_j (b_j − a_sj) n_j,   error = h Σ_j [(ã_sj − b̂_j) A U_j + (b_j − b̂_j) n_j].

The implicit table is stiffly accurate: its weights are its last row ã_sj. A method is a table; this module is the only
step (Ascher, Ruuth & Spiteri 1997; Kennedy & Carpenter 2003).
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction as F
from typing import ClassVar

from torch import Tensor

from gleg_core.contracts.integrator import Integrator, Operator, SplitSystem, Stepper
from gleg_core.spec.params import PackParams
from gleg_integrators.combine import Weights, add, nonzero, weighted


@dataclass(frozen=True)
class ImexTable:
    """Two Butcher tables with common abscissae; rows of ``implicit`` end on the diagonal, of ``explicit`` before it."""

    order: int
    c: tuple[F, ...]
    implicit: tuple[tuple[F, ...], ...]
    explicit: tuple[tuple[F, ...], ...]
    weights: tuple[F, ...]
    """b_j of the explicit table."""
    embedded: tuple[F, ...] | None = None
    """b̂_j, the same for both tables."""

    @property
    def ends_in_last_stage(self) -> bool:
        """z⁺ = U_s and there is no error estimate: n is not needed at the last stage."""
        return self.embedded is None and self.weights == (*self.explicit[-1], F(0))


class ImexRungeKutta(Integrator):
    """The method of a table."""

    table: ClassVar[ImexTable]

    def __init__(self, params: PackParams) -> None:
        table = self.table
        self.params = params
        self.order = table.order
        self.embedded = table.embedded is not None
        evaluated = table.c[:-1] if table.ends_in_last_stage else table.c
        self.nodes = tuple(sorted({float(c) for c in evaluated}))

    def stepper(self, system: SplitSystem, h: float) -> Stepper:
        table = self.table
        stages = [_stage(table, i, system, h) for i in range(len(table.c))]
        finish = nonzero(_minus(table.weights, (*table.explicit[-1], F(0))), h)
        linear_error = nonzero(_minus(table.implicit[-1], table.embedded or table.implicit[-1]), h)
        remaining_error = nonzero(_minus(table.weights, table.embedded or table.weights), h)

        def step(z: Tensor, t: float) -> tuple[Tensor, Tensor | None]:
            linear: list[Tensor] = []  # A U_j
            remaining: list[Tensor] = []  # n_j
            for stage in stages:
                known = add(add(z, stage.implicit, linear), stage.explicit, remaining)
                state = stage.solve(known)
                if table.ends_in_last_stage and stage is stages[-1]:
                    break
                linear.append(stage.slope(state, known))
                remaining.append(system.nonlinear(state, t + stage.c * h))
            error = weighted(linear_error, linear) + weighted(remaining_error, remaining) if linear_error else None
            return add(state, finish, remaining), error

        return step


@dataclass(frozen=True)
class _Stage:
    """One row of the tables, times h, with the solver of its diagonal entry."""

    c: float
    implicit: Weights
    explicit: Weights
    solve: Operator
    slope: Callable[[Tensor, Tensor], Tensor]
    """(U_i, known right-hand side) → A U_i, or anything if that is not used again."""


def _stage(table: ImexTable, i: int, system: SplitSystem, h: float) -> _Stage:
    *known, diagonal = table.implicit[i]
    g = h * float(diagonal)
    solve: Operator = system.linear.resolvent(g) if g else lambda known: known
    needed = any(row[i] for row in table.implicit[i + 1 :]) or (table.embedded is not None and table.embedded[i])

    def slope(state: Tensor, known: Tensor) -> Tensor:
        if not needed:
            return state
        return (state - known) / g if g else system.linear.apply(state)  # A would amplify the rounding errors of U

    return _Stage(float(table.c[i]), nonzero(known, h), nonzero(table.explicit[i], h), solve, slope)


def _minus(left: tuple[F, ...], right: tuple[F, ...]) -> list[F]:
    return [a - b for a, b in zip(left, right, strict=True)]
