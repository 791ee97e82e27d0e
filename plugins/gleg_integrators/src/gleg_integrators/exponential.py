"""Explicit exponential Runge–Kutta methods for ż = A z + n(z, t) (Hochbruck & Ostermann 2005):

    U_i = e^{c_i hA} z + h Σ_{j<i} a_ij(hA) n_j,   n_j = n(U_j, t + c_j h),
    z⁺ = e^{hA} z + h Σ_i b_i(hA) n_i.

Every a_ij and b_i is a sum of φ_k(θ hA). The rows satisfy Σ_j a_ij(w) = c_i φ_1(c_i w) and Σ_i b_i(w) = φ_1(w), hence

    U_i = E(c_i) + h Σ_{1<j<i} a_ij(hA) (n_j − n_1),   E(c) = e^{c hA} z + c h φ_1(c hA) n_1,

and likewise z⁺ from E(1): tables leave out the first column, and E is computed once for each abscissa.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from gleg_core.contracts.integrator import Integrator, LinearPart, Operator, SplitSystem, Stepper
from gleg_core.spec.params import PackParams
from gleg_integrators.combine import Weights, weighted


@dataclass(frozen=True)
class PhiSum:
    """Σ coefficient · φ_k(θ w), a function of w; ``terms`` maps (k, θ) to the coefficient."""

    terms: Mapping[tuple[int, float], float] = field(default_factory=dict)

    def __add__(self, other: "PhiSum") -> "PhiSum":
        keys = {**self.terms, **other.terms}
        return PhiSum({key: self.terms.get(key, 0.0) + other.terms.get(key, 0.0) for key in keys})

    def __rmul__(self, factor: float) -> "PhiSum":
        return PhiSum({key: factor * value for key, value in self.terms.items()})

    def __sub__(self, other: "PhiSum") -> "PhiSum":
        return self + -1.0 * other


def phi(k: int, theta: float = 1.0) -> PhiSum:
    """φ_k(θ w)."""
    return PhiSum({(k, theta): 1.0})


Row = Mapping[int, PhiSum]
"""Stage number j ≥ 2 → coefficient of n_j − n_1."""


@dataclass(frozen=True)
class ExponentialTable:
    """Abscissae, rows and weights, stages numbered from 1 as in print; rows and weights without the first column."""

    order: int
    c: tuple[float, ...]
    rows: tuple[Row, ...]
    weights: Row
    embedded: Row | None = None


class ExponentialRungeKutta(Integrator):
    """The method of a table."""

    table: ExponentialTable

    def __init__(self, params: PackParams) -> None:
        table = self.table
        self.params = params
        self.order = table.order
        self.embedded = table.embedded is not None
        self.nodes = tuple(sorted(set(table.c)))

    def stepper(self, system: SplitSystem, h: float) -> Stepper:
        table, linear = self.table, system.linear
        abscissae = [c for c in dict.fromkeys((*table.c, 1.0)) if c]
        euler = {c: (linear.phi(0, c * h), linear.phi(1, c * h), c * h) for c in abscissae}
        rows = [_compiled(row, linear, h) for row in table.rows]
        weights = _compiled(table.weights, linear, h)
        embedded = table.embedded or table.weights
        stages = sorted({*table.weights, *embedded})
        row = {j: table.weights.get(j, PhiSum()) - embedded.get(j, PhiSum()) for j in stages}
        difference = _compiled(row, linear, h)  # empty without an error estimate

        def step(z: Tensor, t: float) -> tuple[Tensor, Tensor | None]:
            first = system.nonlinear(z, t + table.c[0] * h)
            start = {c: decay(z) + width * gain(first) for c, (decay, gain, width) in euler.items()}
            changes = [first]  # n_j − n_1 from the second stage on
            for c, row in zip(table.c[1:], rows[1:], strict=True):
                state = add_terms(start[c], row, changes)
                changes.append(system.nonlinear(state, t + c * h) - first)
            error = add_terms(torch.zeros_like(z), difference, changes) if difference else None
            return add_terms(start[1.0], weights, changes), error

        return step


_Term = tuple[Operator, Weights]
"""φ_k(θ hA) and the weights, times h, of what it is applied to."""


def _compiled(row: Row, linear: LinearPart, h: float) -> list[_Term]:
    """The row grouped by φ_k(θ hA), so that each operator is applied once."""
    grouped: dict[tuple[int, float], dict[int, float]] = {}
    for j, coefficient in row.items():
        for key, value in coefficient.terms.items():
            if value:
                grouped.setdefault(key, {})[j - 1] = h * value
    return [(linear.phi(k, theta * h), tuple(weights.items())) for (k, theta), weights in grouped.items()]


def add_terms(base: Tensor, row: Sequence[_Term], values: Sequence[Tensor]) -> Tensor:
    """base + h Σ_j a_j(hA) values_j."""
    for operator, weights in row:
        base = base + operator(weighted(weights, values))
    return base
