"""Keys of the diffusion mechanisms in a problem file. Torch is not imported to check them."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from gleg_core.spec.params import FieldName, FilePath, PackParams, SpaceFormula, formula_over


def _increasing(value: tuple[float, float]) -> tuple[float, float]:
    if not value[0] < value[1]:
        raise ValueError(f"found {list(value)}, write [low, high] with low < high")
    return value


class DiffusionParams(PackParams):
    """Parameters of Δu; its diffusivity is the term's coefficient."""

    of: FieldName | None = Field(None, description="field that diffuses; default: the field of this equation")
    twin: Literal["learned", "analytic"] = Field("learned", description="the trained block, or the exact formula")


class VariableDiffusionParams(PackParams):
    """Parameters of ∇·(D(x)∇u)."""

    diffusivity: SpaceFormula = Field(description="D(x), positive")
    of: FieldName | None = Field(None, description="field that diffuses; default: the field of this equation")


class NonlinearDiffusionParams(PackParams):
    """Parameters of ∇·(d(u)∇u): a formula for d, or weights learned from data."""

    diffusivity: formula_over("u") | None = Field(None, description="d(u), a formula of u, positive")  # type: ignore[valid-type]
    weights: FilePath | None = Field(
        None, description="weights made by gleg train, without ending, relative to the problem file"
    )
    of: FieldName | None = Field(None, description="field that diffuses; default: the field of this equation")
    degree: int = Field(12, ge=0, le=200, description="training: degree of the Chebyshev series of log d")
    range: Annotated[tuple[float, float], AfterValidator(_increasing)] = Field(
        (-1.0, 1.0), description="training: values of u it covers"
    )

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if self.diffusivity is not None and self.weights is not None:
            raise ValueError("'diffusivity' and 'weights' exclude each other: a formula, or learned from data")
        return self
