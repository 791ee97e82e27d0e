"""Implicit–explicit Runge–Kutta methods for ż = A z + n(z, t): A implicit, n explicit.

    (M − h ã_ii K) U_i = M z + h Σ_{j<i} (ã_ij K U_j + a_ij f_j),   f_j = f(U_j, t + c_j h),
    z⁺ = U_s + h M⁻¹ Σ_j (b_j − a_sj) f_j,   error = h M⁻¹ Σ_j [(ã_sj − b̂_j) K U_j + (b_j − b̂_j) f_j]

in the weak form A = M⁻¹K, n = M⁻¹f.

The implicit table is stiffly accurate: its weights are its last row ã_sj. A method is a table; this module is the only
step (Ascher, Ruuth & Spiteri 1997; Kennedy & Carpenter 2003).
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction as F
from typing import ClassVar

import torch
from torch import Tensor

from gleg_core.contracts.integrator import Integrator, Operator, SplitSystem, Stepper, WeakForm, weak_form
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
        weak = weak_form(system)
        stages = [_stage(table, i, weak, h) for i in range(len(table.c))]
        finish = nonzero(_minus(table.weights, (*table.explicit[-1], F(0))), h)
        linear_error = nonzero(_minus(table.implicit[-1], table.embedded or table.implicit[-1]), h)
        remaining_error = nonzero(_minus(table.weights, table.embedded or table.weights), h)

        def step(z: Tensor, t: float) -> tuple[Tensor, Tensor | None]:
            linear: list[Tensor] = []  # K U_j
            remaining: list[Tensor] = []  # f_j
            start = weak.mass(z)
            for stage in stages:
                known = add(add(start, stage.implicit, linear), stage.explicit, remaining)
                state = stage.solve(known) if stage.solve else z
                if table.ends_in_last_stage and stage is stages[-1]:
                    return state, None
                linear.append(stage.slope(state, known))
                remaining.append(weak.load(state, t + stage.c * h))
            change = weighted(finish, remaining)
            if not linear_error:
                return state + weak.riesz(change), None
            error = weighted(linear_error, linear) + weighted(remaining_error, remaining)
            change, error = weak.riesz(torch.stack([change, error]))
            return state + change, error

        return step


@dataclass(frozen=True)
class _Stage:
    """One row of the tables, times h, with the solver of its diagonal entry; None for an explicit first stage."""

    c: float
    implicit: Weights
    explicit: Weights
    solve: Operator | None
    slope: Callable[[Tensor, Tensor], Tensor]
    """(U_i, known right-hand side) → K U_i, or anything if that is not used again."""


def _stage(table: ImexTable, i: int, weak: WeakForm, h: float) -> _Stage:
    *known, diagonal = table.implicit[i]
    g = h * float(diagonal)
    needed = any(row[i] for row in table.implicit[i + 1 :]) or (table.embedded is not None and table.embedded[i])

    def slope(state: Tensor, known: Tensor) -> Tensor:
        if not needed:
            return state
        return (
            (weak.mass(state) - known) / g if g else weak.stiffness(state)
        )  # K would amplify the rounding errors of U

    return _Stage(
        float(table.c[i]), nonzero(known, h), nonzero(table.explicit[i], h), weak.solution(g) if g else None, slope
    )


def _minus(left: tuple[F, ...], right: tuple[F, ...]) -> list[F]:
    return [a - b for a, b in zip(left, right, strict=True)]
