"""Parameter models and factories that are wrong in one way, and healthy ones. No torch here: parameters need none."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer

from gleg_core.spec.params import Formula, PackParams, Positive

if TYPE_CHECKING:
    from gleg_core.contracts.integrator import Integrator


class Healthy(PackParams):
    """Keys of a healthy component."""

    rate: Positive = Field(description="growth rate, 1/time")
    source: Formula = Field(0.0, validate_default=True, description="f(x, t)")


class TypingMistakesPass(BaseModel):
    """Not derived from PackParams."""

    model_config = ConfigDict(frozen=True)
    rate: Positive = Field(description="growth rate")


class CanBeChanged(BaseModel):
    model_config = ConfigDict(extra="forbid")
    rate: Positive = Field(description="growth rate")


class ImpossibleDefault(PackParams):
    rate: Positive = Field(description="growth rate")
    capacity: Positive = Field(0.0, description="where growth ends")


class DefaultNotRead(PackParams):
    """Its default stays the number 0.0 where a formula is expected."""

    rate: Positive = Field(description="growth rate")
    source: Formula = Field(0.0, description="f(x, t)")


class RoundedWhenWritten(PackParams):
    rate: Annotated[float, PlainSerializer(lambda v: round(v, 2))] = Field(description="growth rate")


class UnreadableWhenWritten(PackParams):
    rate: Annotated[Positive, PlainSerializer(lambda v: f"{v} per second")] = Field(description="growth rate")


class Silent(PackParams):
    rate: Positive


def healthy(params: BaseModel) -> Integrator:
    from specimens_stepping import Heun

    return Heun(params)  # type: ignore[arg-type]


def nothing_of_the_kind(params: BaseModel) -> dict[str, Any]:
    return {"rate": getattr(params, "rate", None)}


def initialised_at_random(params: BaseModel) -> Integrator:
    """Draws from torch's generator."""
    import torch

    made = healthy(params)
    made.net = torch.nn.Linear(2, 2)  # type: ignore[attr-defined]
    return made


def shuffled(params: BaseModel) -> Integrator:
    """Draws from a generator of its own, without a seed."""
    made = healthy(params)
    made.table = {"weights": [random.SystemRandom().random()]}  # type: ignore[attr-defined]
    return made
