"""Keys of the transport mechanisms in a problem file. Torch is not imported to check them."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, WithJsonSchema, model_validator

from gleg_core.errors import listing
from gleg_core.expressions import Expression
from gleg_core.spec.params import COORDINATES, FieldName, Formula, PackParams, scope_of


def _coordinate(value: Any, info: ValidationInfo) -> str:
    axes = COORDINATES[: scope_of(info).dim]
    if value not in axes:
        raise ValueError(f"found {value!r}, the coordinates of this domain are {listing(axes)}")
    return str(value)


def _one_per_coordinate(value: list[Expression], info: ValidationInfo) -> list[Expression]:
    axes = COORDINATES[: scope_of(info).dim]
    if len(value) != len(axes):
        raise ValueError(f"found {len(value)} components, one per coordinate is needed: {listing(axes)}")
    return value


Direction = Annotated[str, BeforeValidator(_coordinate), WithJsonSchema({"enum": list(COORDINATES), "type": "string"})]
"""A coordinate of the domain: x, y or z."""


class TransportParams(PackParams):
    """u ∂u/∂x_i."""

    direction: Direction = Field(description="coordinate x_i: x, y or z")
    of: FieldName | None = Field(None, description="field that is transported; default: the field of this equation")
    twin: Literal["learned", "analytic"] = Field("learned", description="the trained block, or the exact formula")


class AdvectionParams(PackParams):
    """b·∇u."""

    velocity: Annotated[list[Formula], AfterValidator(_one_per_coordinate)] = Field(
        description="b(x, t), one formula per coordinate, length/time"
    )
    of: FieldName | None = Field(None, description="field that is advected; default: the field of this equation")


class CrossAdvectionParams(PackParams):
    """a ∂u/∂x_i."""

    by: FieldName = Field(description="field a that advects")
    direction: Direction = Field(description="coordinate x_i: x, y or z")
    of: FieldName | None = Field(None, description="field u that is advected; default: the field of this equation")


class StreamAdvectionParams(PackParams):
    """∇^⊥(Ψ + ψ)·∇ω with ∇^⊥ψ = (ψ_y, −ψ_x), in two dimensions."""

    stream: FieldName | None = Field(None, description="field ψ whose flow ∇^⊥ψ advects")
    background: Formula | None = Field(
        None, description="given streamfunction Ψ(x, y, t), length²/time; its flow is added"
    )
    of: FieldName | None = Field(None, description="field ω that is advected; default: the field of this equation")

    @model_validator(mode="after")
    def _a_flow_in_the_plane(self, info: ValidationInfo) -> "StreamAdvectionParams":
        if (dim := scope_of(info).dim) != 2:
            raise ValueError(f"a streamfunction needs two dimensions, this domain has {dim}; use advection")
        if self.stream is None and self.background is None:
            raise ValueError("nothing advects: give stream (a field), background (a formula), or both")
        if self.stream is not None and self.stream == self.of:
            raise ValueError(f"'{self.stream}' does not change along its own flow: ∇^⊥{self.stream}·∇{self.stream} = 0")
        return self
