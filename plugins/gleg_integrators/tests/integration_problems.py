"""Systems ż = A z + n(z, t) with accurate reference solutions, shared by the tests of this pack."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import cast

import numpy as np
import torch
from scipy.integrate import solve_ivp
from torch import Tensor

from gleg_core.algebra.linear import DensePart, DiagonalPart, PartOfEach
from gleg_core.contracts.integrator import Integrator, LinearPart, WeakForm
from gleg_integrators.pack import gleg_integrators

ENTRIES = {entry.name: entry for entry in gleg_integrators()}

VARIANTS: list[tuple[str, dict[str, object]]] = [
    ("rk4", {}),
    ("midpoint", {}),
    ("crank-nicolson", {}),
    ("strang", {}),
    ("strang", {"nonlinear": "heun", "substeps": 3}),
    ("strang", {"linear": "crank-nicolson", "nonlinear": "heun", "substeps": 2}),
    ("imex-ars443", {}),
    ("imex-ark4", {}),
    ("imex-bdf", {}),
    ("rosenbrock", {}),
    ("etdrk2", {}),
    ("etdrk4", {"scheme": "cox-matthews"}),
    ("etdrk4", {"scheme": "krogstad"}),
    ("etdrk4", {"scheme": "hochbruck-ostermann"}),
    ("exponential-adaptive", {}),
]


def label(value: object) -> str:
    return "-".join(str(v) for v in value.values()) or "default" if isinstance(value, dict) else str(value)


def integrator(name: str, **params: object) -> Integrator:
    """The integrator of an entry, made as core makes it."""
    entry = ENTRIES[name]
    model, factory = (_resolve(where) for where in (entry.params, entry.factory))
    return factory(model(**params))


def _resolve(where: str) -> Callable[..., object]:
    module, name = where.split(":")
    return getattr(importlib.import_module(module), name)


@dataclass
class System:
    """ż = A z + n(z, t)."""

    linear: LinearPart
    n: Callable[[Tensor, float], Tensor]
    weak: WeakForm | None = None
    autonomous: bool = False

    def nonlinear(self, z: Tensor, t: float | Tensor) -> Tensor:
        if isinstance(t, Tensor):
            return torch.stack([self.n(state, float(time)) for state, time in zip(z, t, strict=True)])
        return self.n(z, t)

    def rhs(self, z: Tensor, t: float) -> Tensor:
        return self.linear.apply(z) + self.n(z, t)

    def linearised(self, z: Tensor, t: float) -> LinearPart:
        if z.ndim > 1:
            return cast(LinearPart, PartOfEach([self.linearised(state, t) for state in z.reshape(-1, z.shape[-1])]))
        return DensePart(torch.func.jacrev(lambda u: self.linear.apply(u) + self.n(u, t))(z.detach()))


@dataclass
class Problem:
    system: System
    start: Tensor
    end: float
    reference: Tensor


def run(method: Integrator, system: System, z: Tensor, end: float, steps: int) -> Tensor:
    h = end / steps
    step = method.stepper(system, h)
    with torch.no_grad():
        for i in range(steps):
            z, _ = step(z, i * h)
    return z


def reference(system: System, z: Tensor, end: float) -> Tensor:
    def rhs(t: float, y: np.ndarray) -> np.ndarray:
        return system.rhs(torch.from_numpy(y), t).numpy()

    solution = solve_ivp(rhs, (0.0, end), z.numpy(), method="DOP853", rtol=1e-13, atol=1e-15)
    assert solution.success
    return torch.from_numpy(solution.y[:, -1].copy())


@cache
def forced_oscillator() -> Problem:
    """A nonstiff nonlinear system with forcing; A is not normal and does not commute with n."""
    matrix = torch.tensor([[-0.5, 1.2, 0.0], [-1.0, -0.3, 0.4], [0.1, 0.0, -1.5]], dtype=torch.float64)

    def n(z: Tensor, t: float) -> Tensor:
        x, y, w = z.unbind(-1)
        forcing = torch.tensor([np.cos(3 * t), 0.5 * np.sin(2 * t + 1), np.exp(-t)], dtype=torch.float64)
        return torch.stack([-x * y, x * x - torch.sin(w), x * y - 0.5 * w**3], -1) + forcing

    system = System(DensePart(matrix), n)
    start = torch.tensor([0.8, -0.4, 0.6], dtype=torch.float64)
    return Problem(system, start, 1.0, reference(system, start, 1.0))


def sine_modes(count: int, points: int) -> tuple[Tensor, Tensor]:
    """(synthesis points × modes, projection modes × points) of √2 sin(kπx) on the interior points of a uniform grid."""
    x = torch.arange(1, points + 1, dtype=torch.float64) / (points + 1)
    k = torch.arange(1, count + 1, dtype=torch.float64)
    synthesis = 2**0.5 * torch.sin(torch.pi * x[:, None] * k)
    return synthesis, synthesis.mT / (points + 1)


@cache
def allen_cahn(count: int = 64) -> Problem:
    """u_t = ν u_xx + 2(u − u³) + f on (0, 1), u = 0 at the ends, modal; eigenvalues to −1e4, data compatible."""
    synthesis, projection = sine_modes(count, 2 * count + 1)
    k = torch.arange(1, count + 1, dtype=torch.float64)
    profile = projection @ (synthesis[:, 0] + 0.5 * synthesis[:, 2])

    def n(z: Tensor, t: float) -> Tensor:
        u = z @ synthesis.mT
        return 2.0 * ((u - u**3) @ projection.mT) + np.cos(5 * t) * profile

    system = System(DiagonalPart(-1e4 * (k / count) ** 2), n)
    start = projection @ (0.5 * synthesis[:, 0] + 0.2 * synthesis[:, 2])
    return Problem(system, start, 0.5, reference(system, start, 0.5))


@cache
def incompatible(count: int = 32) -> Problem:
    """u_t = ν u_xx + 2 e^u + f on (0, 1), u = 0 at the ends: neither n nor ∂n/∂u vanishes on the boundary.

    The solution is x(1 − x)e^t up to the spatial error, which the reference shares (after Hochbruck & Ostermann 2005).
    """
    synthesis, projection = sine_modes(count, 4 * count + 3)
    points = len(synthesis)
    x = torch.arange(1, points + 1, dtype=torch.float64) / (points + 1)
    k = torch.arange(1, count + 1, dtype=torch.float64)
    nu = 1e4 / (np.pi * count) ** 2

    def n(z: Tensor, t: float) -> Tensor:
        u, exact = z @ synthesis.mT, x * (1 - x) * np.exp(t)
        return (2 * torch.exp(u) - 2 * torch.exp(exact) + exact + 2 * nu * np.exp(t)) @ projection.mT

    system = System(DiagonalPart(-nu * (np.pi * k) ** 2), n)
    start = projection @ (x * (1 - x))
    return Problem(system, start, 0.5, reference(system, start, 0.5))


@cache
def convection(count: int = 24) -> Problem:
    """u_t = ν u_xx + 3 e^u (1 + u_x) + 5(1 + x) cos 6t on (0, 1), u = 0 at the ends, past the initial layer."""
    synthesis, projection = sine_modes(count, 4 * count + 3)
    points = len(synthesis)
    x = torch.arange(1, points + 1, dtype=torch.float64) / (points + 1)
    k = torch.arange(1, count + 1, dtype=torch.float64)
    slopes = 2**0.5 * torch.pi * k * torch.cos(torch.pi * x[:, None] * k)
    begin = 0.3

    def n(z: Tensor, t: float) -> Tensor:
        u, u_x = z @ synthesis.mT, z @ slopes.mT
        return (3 * torch.exp(u) * (1 + u_x) + 5 * (1 + x) * np.cos(6 * t)) @ projection.mT

    linear = DiagonalPart(-1e4 * (k / count) ** 2)
    start = reference(System(linear, n), projection @ (x * (1 - x)), begin)
    system = System(linear, lambda z, t: n(z, begin + t))
    return Problem(system, start, 0.5, reference(system, start, 0.5))
