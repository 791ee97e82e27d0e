"""Small systems ż = A z + n(z, t) with known solutions, for the checks of integrators."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import torch
from torch import Tensor

from gleg_core.algebra.linear import DensePart, PartOfEach
from gleg_core.contracts.integrator import Integrator, LinearPart, WeakForm

Response = Callable[[Tensor, float], Tensor]

MATRIX = torch.tensor([[-0.5, 1.2, 0.0], [-1.0, -0.3, 0.4], [0.1, 0.0, -1.5]], dtype=torch.float64)
"""Not symmetric, not normal, and does not commute with the responses below."""
DENSE = DensePart(MATRIX)
STEP = 0.125


@dataclass
class System:
    """ż = A z + n(z, t); remembers when n was asked for."""

    linear: LinearPart
    response: Response
    times: list[float] = field(default_factory=list)
    weak: WeakForm | None = None
    autonomous: bool = False

    def nonlinear(self, z: Tensor, t: float | Tensor) -> Tensor:
        if isinstance(t, Tensor):
            return torch.stack([self.nonlinear(state, float(time)) for state, time in zip(z, t, strict=True)])
        self.times.append(t)
        return self.response(z, t)

    def rhs(self, z: Tensor, t: float) -> Tensor:
        return self.linear.apply(z) + self.nonlinear(z, t)

    def linearised(self, z: Tensor, t: float) -> LinearPart:
        if z.ndim > 1:
            return cast(LinearPart, PartOfEach([self.linearised(state, t) for state in z.reshape(-1, z.shape[-1])]))
        return DensePart(torch.func.jacrev(lambda u: self.linear.apply(u) + self.response(u, t))(z.detach()))


def initial() -> Tensor:
    """A state, made anew: a wrong method may write into it."""
    return torch.tensor([0.8, -0.4, 0.6], dtype=torch.float64)


def nothing(z: Tensor, t: float) -> Tensor:
    return torch.zeros_like(z)


def coupling(z: Tensor, t: float) -> Tensor:
    """A smooth autonomous response that couples all components."""
    x, y, w = z.unbind(-1)
    return torch.stack([-x * y, x * x - torch.sin(w), x * y - 0.5 * w**3], -1)


def path(t: float) -> Tensor:
    """z*(t), the solution the forcing of :func:`forced` is made for."""
    values = [0.8 * math.cos(1.3 * t), math.sin(t) - 0.4, 0.6 * math.exp(-t)]
    return torch.tensor(values, dtype=torch.float64)


def _velocity(t: float) -> Tensor:
    values = [-1.04 * math.sin(1.3 * t), math.cos(t), -0.6 * math.exp(-t)]
    return torch.tensor(values, dtype=torch.float64)


def forced(linear: LinearPart = DENSE) -> System:
    """ż = A z + g(z) + ż* − A z* − g(z*): nonlinear, depends on time, solved by z*."""

    def response(z: Tensor, t: float) -> Tensor:
        exact = path(t)
        return coupling(z, t) - coupling(exact, t) + _velocity(t) - linear.apply(exact)

    return System(linear, response)


def run(method: Integrator, system: System, z: Tensor, steps: int, h: float) -> Tensor:
    """The state after ``steps`` steps from t = 0."""
    step = method.stepper(system, h)
    with torch.no_grad():
        for i in range(steps):
            z, _ = step(z, i * h)
    return z


class Recording:
    """The dense linear part, which remembers what a method asks of it."""

    eigenvalues = None

    def __init__(self) -> None:
        self.asked: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        self.asked.add(name)
        return getattr(DENSE, name)


def size(values: Tensor) -> float:
    """max|values|, infinite if one of them is not a number: comparisons would lose it."""
    largest = float(values.abs().max()) if values.numel() else 0.0
    return math.inf if math.isnan(largest) else largest


def distance(a: Tensor, b: Tensor) -> float:
    """max|a − b| / max|b|."""
    return size(a - b) / (size(b) or 1.0)
