"""Derivatives of functions of a jet: F(u, ∇u, …, x, t) at points where u is known through its derivatives.

The variables are u_α = ∂^αu for fields u and multi-indices α, and the coordinates. Chain rule, by automatic differentiation:

    D_i F = Σ_{u,α} ∂F/∂u_α · u_{α+e_i} + ∂F/∂x_i.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import grad, jvp

from gleg_core.contracts.jet import MultiIndex, unit

Variable = tuple[str, MultiIndex]
"""(field, α); for the coordinate x_i: ("", e_i)."""
Values = Mapping[Variable, Tensor]


def plus(alpha: MultiIndex, axis: int) -> MultiIndex:
    return tuple(a + (i == axis) for i, a in enumerate(alpha))


@dataclass(frozen=True)
class JetFunction:
    """``value`` computes F, shape (..., n), from the variables in ``reads``."""

    value: Callable[[Values], Tensor]
    reads: frozenset[Variable]

    def derivative(self, axis: int) -> "JetFunction":
        """D_i F."""
        dim = len(next(iter(self.reads))[1]) if self.reads else 1
        further = {(field, plus(alpha, axis)) for field, alpha in self.reads if field}

        def value(values: Values) -> Tensor:
            here = {v: values[v].contiguous() for v in self.reads}  # jvp takes no tensor whose elements share memory
            along = {
                (field, alpha): values[field, plus(alpha, axis)]
                if field
                else torch.full_like(u, float(alpha == unit(dim, axis)))
                for (field, alpha), u in here.items()
            }
            return jvp(self.value, (here,), (along,))[1]

        return JetFunction(value, self.reads | further)

    def partial(self, variable: Variable) -> "JetFunction":
        """∂F/∂u_α."""

        def value(values: Values) -> Tensor:
            others = {v: u for v, u in values.items() if v != variable}
            return grad(lambda u: self.value({**others, variable: u}).sum())(values[variable])

        return JetFunction(value, self.reads)


def total(parts: Iterable[tuple[float, JetFunction]]) -> JetFunction:
    """Σ c F."""
    parts = list(parts)

    def value(values: Values) -> Tensor:
        return torch.stack([c * f.value(values) for c, f in parts]).sum(dim=0)

    return JetFunction(value, frozenset().union(*(f.reads for _, f in parts)))


def variational_derivative(density: JetFunction, field: str) -> JetFunction:
    """δE/δu = Σ_α (−1)^{|α|} D^α ∂e/∂u_α."""
    parts = []
    for variable in sorted(v for v in density.reads if v[0] == field):
        alpha = variable[1]
        part = density.partial(variable)
        for axis, order in enumerate(alpha):
            for _ in range(order):
                part = part.derivative(axis)
        parts.append(((-1.0) ** sum(alpha), part))
    return total(parts)
