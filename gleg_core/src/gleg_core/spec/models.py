"""The keys of a problem file that belong to core. What belongs to packs is checked by the packs' own models."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, ConfigDict, Field

from gleg_core.spec.params import Formula, Number, PackParams, Positive, Whole


class Section(PackParams):
    """A part of the problem file with a fixed set of keys."""


class Component(BaseModel):
    """A component from a pack: ``kind`` names it, the other keys are its parameters."""

    model_config = ConfigDict(extra="allow", frozen=True)
    kind: str = Field(description="name of the component, or pack:name")

    @property
    def parameters(self) -> dict[str, Any]:
        return dict(self.__pydantic_extra__ or {})


class BoundarySection(Component):
    """A boundary condition on one or several segments."""

    where: str | list[str] = Field("all", description="segment name(s); 'all', or 'rest' for those not named elsewhere")
    data: Literal["given", "exact"] = Field("given", description="'exact' takes the data from the exact solution")


class TermSection(BaseModel):
    """A mechanism in an equation, scaled by its coefficient."""

    model_config = ConfigDict(extra="allow", frozen=True, arbitrary_types_allowed=True)
    block: str | None = Field(None, description="name of the block, or pack:name")
    square: list[TermSection] | None = Field(
        None, description="(Σ terms)² of linear mechanisms with constant coefficients"
    )
    coefficient: Formula = Field(1.0, validate_default=True, description="number, or formula of x, y, z, t")
    realisation: Literal["weak", "pointwise", "ambient"] | None = Field(
        None, description="default: the block's own choice"
    )

    @property
    def parameters(self) -> dict[str, Any]:
        return dict(self.__pydantic_extra__ or {})


class FieldSection(Section):
    """One unknown: its initial state, boundary conditions and equation u_t = Σ terms."""

    equation: list[TermSection] = Field(description="terms of the right-hand side", min_length=1)
    boundary: list[BoundarySection] = Field(description="conditions that cover the whole boundary", min_length=1)
    initial: Formula | None = Field(None, description="u at the start; default: the exact solution there")
    exact: Formula | None = Field(None, description="exact solution, for errors")
    forcing: Literal["none", "manufactured"] = Field(
        "none", description="'manufactured' adds the source that makes the exact solution solve the equation"
    )


class TimeSection(Section):
    """Time interval and integrator."""

    end: Number = Field(description="end time")
    start: Number = Field(0.0, description="start time")
    step: Positive | Literal["auto"] = Field("auto", description="time step, or auto to control it by the tolerance")
    tolerance: Positive = Field(1e-6, description="relative local error per step when the step is auto")
    integrator: str | Component = Field("etdrk4", description="name of the integrator, or kind with parameters")


class SpaceSection(Section):
    """Choices of the admissible space; the defaults suit smooth problems."""

    box: Literal["auto"] | list[Number] | list[list[Number]] = Field(
        "auto", description="the box Q: [low, high] for a cube, or one pair per coordinate; auto fits it to the domain"
    )
    margin: Annotated[Number, Ge(0.0), Lt(0.9)] = Field(0.35, description="free part of the box around a fitted domain")
    rotate: bool | Number = Field(True, description="turn the box if that makes it smaller; or an angle in radians")
    boundary_samples: Literal["auto"] | Annotated[Whole, Ge(4)] = Field(
        "auto", description="samples on the whole boundary"
    )
    oversampling: Annotated[Number, Ge(1.0), Le(10.0)] = Field(
        1.0, description="volume quadrature: factor on the wavenumber 2·bandwidth it must integrate"
    )
    tau_C: Annotated[Number, Gt(0.0), Lt(1e-2)] = Field(1e-11, description="rank threshold of the boundary system")
    tau_M: Annotated[Number, Gt(0.0), Lt(1e-2)] = Field(1e-13, description="cut of small mass eigenvalues")
    lift: Literal["mass-minimal", "minimum-norm"] = Field("mass-minimal", description="how boundary data are extended")


class OutputSection(Section):
    """What a run writes."""

    frames: Annotated[Whole, Ge(1), Le(100_000)] = Field(
        20, description="number of equal intervals between saved states"
    )
    grid: Annotated[Whole, Ge(8), Le(2000)] = Field(101, description="points of the output grid along the longer side")
    probes: list[list[Number]] = Field(default_factory=list, description="points whose time series are written")
    pictures: bool = Field(True, description="write pictures")
    movie: bool = Field(False, description="write an animation")


class ProblemSection(Section):
    """A whole problem file."""

    title: str = Field("", description="a line for pictures and reports")
    domain: Component = Field(description="the shape Ω")
    basis: Component = Field(Component(kind="fourier"), description="the ambient trial space on the box Q")
    constants: dict[str, Number] = Field(default_factory=dict, description="named numbers for formulas")
    formulas: dict[str, Any] = Field(
        default_factory=dict, description="named formulas, in order; later ones may use earlier ones"
    )
    fields: dict[str, FieldSection] = Field(description="the unknowns", min_length=1)
    time: TimeSection = Field(description="time interval and integrator")
    space: SpaceSection = Field(SpaceSection(), description="choices of the admissible space")
    output: OutputSection = Field(OutputSection(), description="what a run writes")
