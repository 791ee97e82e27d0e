"""A training recipe: states, sizes, loss, optimiser, seed. Declarative, so that a result can be made again. No torch here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt
from pydantic import Field, ValidationError

from gleg_core.errors import SpecError
from gleg_core.spec.complaints import Complaints
from gleg_core.spec.loading import load_document
from gleg_core.spec.models import Component, Section

PositiveInt = Annotated[int, Ge(1)]
PositiveFloat = Annotated[float, Gt(0)]


class States(Section):
    """Random states on the box [−1, 1]^dim: coefficients independent normal, standard deviation ∝ (1 + |k|)^−decay, rescaled so
    that max|u| is log-uniform in ``amplitude``."""

    basis: Component = Field(Component(kind="fourier", K=22), description="ambient basis of the states")
    dim: Annotated[int, Ge(1)] = Field(2, description="space dimension")
    count: PositiveInt = Field(64, description="training states")
    held_out: PositiveInt = Field(32, description="held-out states")
    points: PositiveInt = Field(256, description="random points per state at which responses are compared")
    decay: float = Field(0.5, description="decay of the spectrum; 0 is white")
    amplitude: tuple[PositiveFloat, PositiveFloat] = Field((0.01, 1.0), description="range of max|u|")


class Data(Section):
    """States and responses measured on a periodic grid of the box; no formula is used."""

    path: str = Field(
        description="NetCDF file: variable 'state' (sample, y, x) with 'response' alike, or (trajectory, time, y, x)"
    )
    kind: Literal["pairs", "trajectories"] = Field(
        "pairs", description="pairs of state and response, or short trajectories"
    )
    held_out: Annotated[float, Gt(0)] = Field(0.2, lt=1, description="fraction of samples kept for evaluation")


class Optimiser(Section):
    """How the parameters are found."""

    kind: Literal["gauss-newton", "lbfgs", "adam"] = Field(
        "gauss-newton", description="gauss-newton reaches rounding level"
    )
    iterations: PositiveInt = Field(100, description="most iterations (epochs for adam)")
    rate: PositiveFloat = Field(1e-3, description="learning rate (adam), first step (lbfgs)")
    batch: PositiveInt = Field(16, description="states per step (adam)")
    patience: PositiveInt = Field(20, description="stop after so many iterations without a better held-out error")


class Recipe(Section):
    """Everything training depends on."""

    block: str = Field(description="full key of the block")
    params: dict[str, Any] = Field(default_factory=dict, description="parameters of the block, as in a problem file")
    fields: tuple[str, ...] = Field(("u",), description="fields the block reads; the first is its target")
    states: States = Field(States(), description="sampling law")
    data: Data | None = Field(None, description="measured data instead of the reference operator")
    optimiser: Optimiser = Field(Optimiser(), description="how the parameters are found")
    seed: Annotated[int, Ge(0)] = Field(0, description="seed of all random numbers")
    certify: Annotated[float, Gt(0)] | None = Field(
        None, description="largest certified max|u|; default: largest amplitude"
    )
    licence: str = Field("MIT", description="licence of the weights")


def read_recipe(path: str | Path) -> tuple[Recipe, Path]:
    """A recipe file and the folder its relative paths start from."""
    document = load_document(path)
    try:
        return Recipe.model_validate(document.data), Path(document.folder)
    except ValidationError as error:
        complaints = Complaints(document)
        complaints.add_validation(error, Recipe, (), document.data)
        complaints.settle()
        raise SpecError(str(error)) from None
