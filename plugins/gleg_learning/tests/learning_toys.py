"""Small learned blocks for the tests of training, and a registry that offers them as the pack ``toy``."""

from __future__ import annotations

import os
import signal
from typing import Any, Self

import torch
from pydantic import Field
from torch import Tensor

from gleg_core.contracts.block import Binding, Fields, Traits
from gleg_core.contracts.learned import LearnedBlock
from gleg_core.contracts.location import Location
from gleg_core.pack import CONTRACT, Entry
from gleg_core.registry import Pack, Registry, default_registry
from gleg_core.spec.params import PackParams
from gleg_learning.recipe import Recipe


class Params(PackParams):
    """Parameters of the toys."""

    scale: float = Field(1.0, gt=0, description="factor of the exact law")


class Theta(torch.nn.Module):
    """A vector of parameters."""

    def __init__(self, size: int, dtype: torch.dtype = torch.float64):
        super().__init__()
        self.theta = torch.nn.Parameter(torch.zeros(size, dtype=dtype))


class Toy(LearnedBlock):
    """L_θ(u) for θ of length ``size``; ``killed_at`` ends the process in the middle of that evaluation."""

    traits = Traits("R", order=0, degree=None)
    size = 3
    killed_at = int(os.environ.get("TOY_KILLED_AT", 0))
    evaluations = 0

    def __init__(self, params: Params, binding: Binding):
        self.params, self.binding = params, binding
        self.module = self.parameters()

    def parameters(self) -> Theta:
        return Theta(self.size)

    @classmethod
    def untrained(cls, params: Params, binding: Binding) -> Self:  # type: ignore[override]
        block = cls(params, binding)
        torch.nn.init.normal_(block.module.theta, mean=0.5, std=0.2)
        return block

    def response(self, fields: Fields, at: Location) -> Tensor:
        Toy.evaluations += 1
        if Toy.evaluations == self.killed_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return self.law(self.module.theta, fields)

    def reference(self, fields: Fields, at: Location) -> Tensor:
        return self.params.scale * self.law(torch.tensor(self.exact, dtype=torch.float64), fields)

    exact: tuple[float, ...] = (0.5, -1.0, 2.0)

    def law(self, theta: Tensor, fields: Fields) -> Tensor:
        u = fields[self.binding.target].value
        return theta[0] * u + theta[1] * u**2 + theta[2] * u**3


class Saturation(Toy):
    """θ₀ tanh(θ₁ u) + θ₂ u²: nonlinear in θ."""

    exact = (1.5, 0.7, 0.3)

    def law(self, theta: Tensor, fields: Fields) -> Tensor:
        u = fields[self.binding.target].value
        return theta[0] * torch.tanh(theta[1] * u) + theta[2] * u**2


class Misfit(Saturation):
    """The same for a law it cannot represent: no optimiser is ever quite done."""

    def reference(self, fields: Fields, at: Location) -> Tensor:
        u = fields[self.binding.target].value
        return torch.sin(3 * u) + torch.exp(-u)


class Coupling(Toy):
    """θ₀ u v + θ₁ v of two fields."""

    size, exact = 2, (0.8, -0.3)

    def law(self, theta: Tensor, fields: Fields) -> Tensor:
        u, v = (fields[name].value for name in self.binding.fields)
        return theta[0] * u * v + theta[1] * v


class Growth(Toy):
    """θ₀ Δu + θ₁ u, known from data only."""

    size, exact = 2, (0.05, 0.4)

    def law(self, theta: Tensor, fields: Fields) -> Tensor:
        u = fields[self.binding.target]
        return theta[0] * u.laplacian + theta[1] * u.value

    def reference(self, fields: Fields, at: Location) -> Tensor:
        raise NotImplementedError("no formula")


class NotFinite(Toy):
    """log(θ₀ − 3/2): not a number at first."""

    def law(self, theta: Tensor, fields: Fields) -> Tensor:
        return (theta[0] - 1.5).log() * fields[self.binding.target].value

    exact = (2.0,)


class WrongShape(Toy):
    def response(self, fields: Fields, at: Location) -> Tensor:
        return super().response(fields, at)[:1]


class Cut(Toy):
    def response(self, fields: Fields, at: Location) -> Tensor:
        return super().response(fields, at).detach()


class Raising(Toy):
    def response(self, fields: Fields, at: Location) -> Tensor:
        raise IndexError("off by one")


class Single(Toy):
    def parameters(self) -> Theta:
        return Theta(3, torch.float32)


class Zero(Toy):
    exact = (0.0, 0.0, 0.0)


TOYS = {
    c.__name__.lower(): c
    for c in (Toy, Saturation, Misfit, Coupling, Growth, NotFinite, WrongShape, Cut, Raising, Single, Zero)
}


def registry() -> Registry:
    """The installed packs and the toys."""
    entries = tuple(
        Entry(name, f"toy {name}", "learning_toys:Params", f"learning_toys:{kind.__name__}",
              capabilities={"learned": f"learning_toys:{kind.__name__}", "weights": None})
        for name, kind in TOYS.items()
    )  # fmt: skip
    pack = Pack("toy", "gleg-toy", "1.0", "learning_toys", CONTRACT, "MIT", {"block": entries})
    return Registry((*default_registry().packs, pack))


def recipe(block: str = "toy", **changes: Any) -> Recipe:
    """A small recipe for a toy; nested keys are merged."""
    states = {"basis": {"kind": "fourier", "K": 3}, "count": 12, "held_out": 6, "points": 20, "amplitude": [0.1, 2]}
    optimiser = {"iterations": 30, "patience": 8}
    data = {"block": f"toy:{block}", **changes}
    data["states"] = states | changes.get("states", {})
    data["optimiser"] = optimiser | changes.get("optimiser", {})
    return Recipe.model_validate(data)
