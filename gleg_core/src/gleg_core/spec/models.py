"""The keys of a problem file that belong to core. What belongs to packs is checked by the packs' own models."""

from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema, field_validator

from gleg_core.spec.params import TEXT_OR_NUMBER, Formula, Number, PackParams, Positive, Whole


class Section(PackParams):
    """A part of the problem file with a fixed set of keys."""


class _Open(BaseModel):
    """Keys of core, and others that are parameters of a component."""

    model_config = ConfigDict(extra="allow", frozen=True, arbitrary_types_allowed=True, defer_build=True)

    @property
    def parameters(self) -> dict[str, Any]:
        return dict(self.__pydantic_extra__ or {})


class ComponentSection(_Open):
    """A component from a pack: ``kind`` names it, the other keys are its parameters."""

    kind: str = Field(description="name of the component, or pack:name; `gleg packs` lists them")


class BoundarySection(ComponentSection):
    """A boundary condition on one or several segments."""

    where: str | Annotated[list[str], Field(min_length=1)] = Field(
        "all", description="segment name or list of them; all, or rest for the segments that no other condition names"
    )
    data: Literal["given", "exact"] = Field(
        "given", description="given: by this condition's own keys; exact: computed from the field's exact solution"
    )

    @field_validator("where")
    @classmethod
    def _alone(cls, where: str | list[str]) -> str | list[str]:
        words = [where] if isinstance(where, str) else where
        if len(words) > 1 and (word := next((w for w in words if w in ("all", "rest")), None)):
            raise ValueError(f"'{word}' stands alone, found it in a list of {len(words)}")
        if double := next((w for w in words if words.count(w) > 1), None):
            raise ValueError(f"segment '{double}' is listed twice")
        return where


class TermSection(_Open):
    """A mechanism in an equation, scaled by its coefficient."""

    block: str | None = Field(None, description="name of the mechanism, or pack:name; `gleg packs` lists them")
    square: "Annotated[list[TermSection], Field(min_length=1)] | None" = Field(
        None,
        description="instead of block: (Σ terms)² of linear mechanisms with constant coefficients, such as (Δ + k²)²",
    )
    coefficient: Formula = Field(
        1.0, validate_default=True, description="factor of the mechanism: a number, or a formula of x, y, z, t"
    )
    realisation: Literal["weak", "pointwise", "ambient"] | None = Field(
        None, description="how the mechanism is computed on Ω; default: the first that it offers and the problem admits"
    )


class FieldSection(Section):
    """One unknown u: its initial state, boundary conditions and equation ∂u/∂t = Σ terms (0 = Σ terms if steady)."""

    equation: list[TermSection] = Field(
        default_factory=list, min_length=1, description="terms of the right-hand side of ∂u/∂t = …"
    )
    boundary: list[BoundarySection] = Field(
        description="boundary conditions; together they cover every segment once", min_length=1
    )
    initial: Formula | None = Field(None, description="formula of u at the start; default: the exact solution there")
    exact: Formula | None = Field(
        None, description="formula of the exact solution, if it is known: the run then reports its error"
    )
    forcing: Literal["none", "manufactured", "manufactured-weak"] = Field(
        "none",
        description="manufactured: add the source that makes the exact solution solve the equation; manufactured-weak: the same by weak "
        "forms, for exact solutions with kinks",
    )
    steady: bool = Field(
        False,
        description="true: solve 0 = Σ terms at every instant, for an auxiliary field such as a streamfunction; its "
        "terms must be linear or sources",
    )


class TimeSection(Section):
    """Time interval and integrator."""

    end: Number = Field(description="time at which the run ends")
    start: Number = Field(0.0, description="time at which the run starts")
    step: Positive | Literal["auto"] = Field(
        "auto", description="length of a time step, or auto to choose it by the tolerance"
    )
    tolerance: Positive = Field(1e-6, description="relative local error allowed per step when the step is auto")
    stops: tuple[Number, ...] = Field(
        (),
        description="moments at which steps end and begin anew, beside those at which formulas of time jump or have a kink",
    )
    integrator: str | ComponentSection = Field(
        "auto",
        description="name of the integrator, or a mapping of kind and its parameters; auto: what the installed packs suggest for steps of "
        "the stated length, or for steps chosen by the tolerance",
    )


class SpaceSection(Section):
    """Choices of the admissible space; the defaults suit smooth problems."""

    box: Literal["auto"] | list[Number] | list[list[Number]] = Field(
        "auto", description="the box Q: [low, high] for a cube, or one pair per coordinate; auto fits it to the domain"
    )
    margin: Literal["auto"] | Annotated[Number, Ge(0.0), Lt(0.9)] = Field(
        "auto",
        description="free part of the box around the domain when the box is auto, 0 to 0.9; auto: 0.35 for a periodic basis (0.2 where an "
        "accuracy is stated and waves are short), else 0",
    )
    rotate: bool | Number = Field(
        True, description="true: turn the box if that makes it smaller; false: never; or an angle in radians"
    )
    boundary_samples: Literal["auto"] | Annotated[Whole, Ge(4)] = Field(
        "auto", description="number of samples on the whole boundary; auto: ten per shortest wavelength of the basis"
    )
    oversampling: Annotated[Number, Ge(1.0), Le(10.0)] = Field(
        1.0, description="volume quadrature: factor on the wavenumber 2·bandwidth it must integrate, 1 to 10"
    )
    quadrature: Annotated[Number, Ge(1e-14), Le(1e-2)] = Field(
        1e-13,
        description="volume quadrature: error of the integrals of waves up to that wavenumber, relative to the area; larger is faster",
    )
    tau_C: Annotated[Number, Gt(0.0), Lt(1e-2)] = Field(
        1e-11, description="singular values of the boundary system below this fraction of the largest count as zero"
    )
    tau_M: Annotated[Number, Gt(0.0), Lt(1e-2)] = Field(
        1e-13, description="mass eigenvalues below this fraction of the largest are cut"
    )
    rank: Literal["auto"] | Annotated[Whole, Ge(1)] = Field(
        "auto",
        description="at most this many functions per field; auto: all that tau_M leaves",
    )
    keep: Literal["smoothest", "largest"] = Field(
        "smoothest",
        description="which functions a rank keeps: the smoothest (smallest ∫|∇φ|², the slowest modes of diffusion), or those of the "
        "largest mass eigenvalues, which forced problems may need",
    )
    lift: Literal["steady", "mass-minimal", "minimum-norm"] = Field(
        "steady",
        description="how boundary data are extended into Ω: as the steady state of the stiff part (keeps the integrator's order), "
        "smallest in L²(Ω), or smallest coefficients",
    )

    @field_validator("box")
    @classmethod
    def _pairs(cls, box: Any) -> Any:
        if box == "auto":
            return box
        pairs = box if box and isinstance(box[0], list) else [box]
        if not all(len(pair) == 2 and pair[0] < pair[1] for pair in pairs):
            raise ValueError(f"found {box}, write [low, high], or one such pair per coordinate, low < high")
        return box


class OutputSection(Section):
    """What a run writes."""

    frames: Annotated[Whole, Ge(1), Le(100_000)] = Field(
        20, description="number of equal intervals between saved states; the initial state is saved as well"
    )


class ProblemSection(Section):
    """A whole problem file. Built at once: whoever imports this module reads a problem with it."""

    model_config = ConfigDict(defer_build=False)
    title: str = Field("", description="a line for pictures and reports")
    domain: ComponentSection = Field(description="the shape Ω: its kind and that kind's parameters")
    basis: ComponentSection | None = Field(
        None, description="the trial space; default: what the installed packs suggest"
    )
    constants: dict[str, Number] = Field(
        default_factory=dict, description="named numbers for formulas, in order; later ones may use earlier ones"
    )
    formulas: dict[str, Annotated[Any, WithJsonSchema(TEXT_OR_NUMBER)]] = Field(
        default_factory=dict, description="named formulas of x, y, z, t, in order; later ones may use earlier ones"
    )
    regions: dict[str, ComponentSection] = Field(
        default_factory=dict,
        description="named shapes, of the kinds that a domain may have: in formulas a name is a condition, as in where(name, a, b)",
    )
    fields: dict[str, FieldSection] = Field(description="the unknowns by name", min_length=1)
    time: TimeSection = Field(description="time interval and integrator")
    accuracy: Annotated[Number, Gt(0.0), Lt(1.0)] | None = Field(
        None,
        description="relative error to aim at: resolution, mass cut and time tolerance that the file does not state are chosen for it",
    )
    patience: Annotated[Number, Ge(0.0)] = Field(
        90.0,
        description="seconds that further trials, for an accuracy or on another basis, may take before the best run so far is kept",
    )
    unresolved: Literal["warn", "fail", "ignore"] = Field(
        "warn",
        description="what a run does that finds itself unresolved: say so, fail after it has written what there is, or not look at all",
    )
    space: SpaceSection = Field(SpaceSection.model_construct(), description="choices of the admissible space")
    output: OutputSection = Field(OutputSection.model_construct(), description="what a run writes")
