"""A training recipe: states, sizes, loss, optimiser, seed. Declarative, so that a result can be made again. No torch here."""

from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Le
from pydantic import BaseModel, Field, ValidationError, field_validator

from gleg_core.capabilities import BasisCapabilities
from gleg_core.errors import PackError, SpecError
from gleg_core.registry import Registry
from gleg_core.spec.complaints import Complaints
from gleg_core.spec.defaults import Question, suggested, unanswered
from gleg_core.spec.loading import Document, Place, load_document
from gleg_core.spec.models import ComponentSection, Section
from gleg_core.spec.params import Scope

PositiveInt = Annotated[int, Ge(1)]
PositiveFloat = Annotated[float, Gt(0), Field(allow_inf_nan=False)]


class States(Section):
    """Random states on the box [−1, 1]^dim: coefficients independent normal, standard deviation ∝ (1 + |k|)^−decay, rescaled so
    that max|u| is log-uniform in ``amplitude``."""

    basis: ComponentSection | None = Field(
        None,
        description="ambient basis of the states; default: the one that installed packs suggest, with resolution 22",
    )
    dim: Annotated[int, Ge(1), Le(3)] = Field(2, description="space dimension")
    count: PositiveInt = Field(64, description="training states")
    held_out: PositiveInt = Field(32, description="held-out states")
    points: PositiveInt = Field(256, description="random points per state at which responses are compared")
    decay: float = Field(0.5, allow_inf_nan=False, description="decay of the spectrum; 0 is white")
    amplitude: tuple[PositiveFloat, PositiveFloat] = Field((0.01, 1.0), description="range of max|u|")

    @field_validator("amplitude")
    @classmethod
    def _ordered(cls, amplitude: tuple[float, float]) -> tuple[float, float]:
        if amplitude[0] > amplitude[1]:
            raise ValueError(f"found {list(amplitude)}, the smaller value comes first")
        return amplitude


class Data(Section):
    """States and responses measured on a periodic grid of the box; no formula is used."""

    path: str = Field(
        description="NetCDF file: variable 'state' (sample, y, x) with 'response' alike, or (trajectory, time, y, x) with "
        "'time'; with several fields the variables are state_u, state_v, …"
    )
    kind: Literal["pairs", "trajectories"] = Field(
        "pairs", description="pairs of state and response, or short trajectories"
    )
    held_out: Annotated[float, Gt(0)] = Field(
        0.2, lt=1, description="fraction kept for evaluation, of the pairs or of the trajectories"
    )


class Optimiser(Section):
    """How the parameters are found."""

    kind: Literal["gauss-newton", "lbfgs", "adam"] = Field(
        "gauss-newton", description="gauss-newton reaches rounding level"
    )
    iterations: PositiveInt = Field(100, description="most iterations (epochs for adam)")
    rate: PositiveFloat | None = Field(None, description="learning rate (adam, 1e-3) or first trial step (lbfgs, 1)")
    batch: PositiveInt = Field(16, description="states per step (adam)")
    patience: PositiveInt = Field(20, description="stop after so many iterations without a better held-out error")


class Recipe(Section):
    """Everything training depends on."""

    block: str = Field(description="full key of the block")
    params: dict[str, Any] = Field(default_factory=dict, description="parameters of the block, as in a problem file")
    fields: tuple[str, ...] = Field(("u",), min_length=1, description="fields the block reads; the first is its target")
    states: States = Field(States(), description="sampling law")
    data: Data | None = Field(None, description="measured data instead of the reference operator")
    optimiser: Optimiser = Field(Optimiser(), description="how the parameters are found")
    seed: Annotated[int, Ge(0), Le(2**40)] = Field(0, description="seed of all random numbers")
    certify: PositiveFloat | None = Field(
        None, description="largest certified max|u|; default: largest amplitude of the states or data"
    )
    licence: str = Field("MIT", description="licence of the weights")

    @field_validator("fields")
    @classmethod
    def _distinct(cls, fields: tuple[str, ...]) -> tuple[str, ...]:
        if double := next((name for name in fields if fields.count(name) > 1), None):
            raise ValueError(f"the field '{double}' is listed twice")
        return fields


def basis_of(states: States, registry: Registry) -> ComponentSection:
    """The stated basis, or the one that installed packs suggest, with resolution 22."""
    if states.basis is not None:
        return states.basis
    question = Question("basis", None, Scope(dim=states.dim), registry)
    if (found := suggested(question)) is None:
        raise PackError(f"states.basis: the recipe names none; {unanswered(question)}")
    resolution = registry.find("basis", found.kind).capabilities(BasisCapabilities).resolution
    sized = {resolution: 22} if resolution else {}
    return ComponentSection(kind=found.kind, **{**found.parameters, **sized})


def read_recipe(path: str | Path, registry: Registry | None = None, key: str | None = None) -> tuple[Recipe, Path]:
    """A recipe file and the folder its relative paths start from.

    With a ``registry`` the parameters of block and basis are checked too; with a ``key`` the recipe must be for that block.
    """
    document = load_document(path)
    complaints = Complaints(document)
    try:
        recipe = Recipe.model_validate(document.data)
    except ValidationError as error:
        complaints.add_validation(error, Recipe, (), document.data)
        complaints.settle()
        raise SpecError(f"{path}: {error}") from None
    if registry is not None:
        check_recipe(recipe, registry, document, key)
    return recipe, Path(document.folder)


def check_recipe(
    recipe: Recipe, registry: Registry, document: Document | None = None, key: str | None = None
) -> tuple[BaseModel, BaseModel]:
    """The validated parameters (of the block, of the basis), or one error that lists what is wrong with them."""
    document = document or Document({}, f"recipe for {recipe.block}")
    complaints = Complaints(document)
    scope = Scope(dim=recipe.states.dim, fields=recipe.fields, folder=document.folder)

    def validated(contract: str, name: str, data: dict[str, Any], place: Place, named: Place) -> BaseModel | None:
        try:
            component = registry.find(contract, name)
            if contract == "block" and key is not None and component.key != key:
                complaints.add(named, f"found '{name}', this is the training of '{key}'")
                return None
            model = registry.params(component)
            return model.model_validate(data, context=scope)
        except PackError as error:
            complaints.add(named, str(error), pack=True)
        except ValidationError as error:
            complaints.add_validation(
                error, model, place, data, lambda below: () if below else map(str, named[len(place) :])
            )
        return None

    block = validated("block", recipe.block, recipe.params, ("params",), ("block",))
    stated = basis_of(recipe.states, registry)
    basis = validated("basis", stated.kind, stated.parameters, ("states", "basis"), ("states", "basis", "kind"))
    complaints.settle()
    assert block is not None and basis is not None
    return block, basis
