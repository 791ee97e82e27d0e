"""Keys of the polynomial mechanisms in a problem file. Torch is not imported to check them."""

from __future__ import annotations

from typing import Annotated, Self

from annotated_types import Ge, Le
from pydantic import AfterValidator, Field, model_validator

from gleg_core.spec.params import FieldName, FilePath, Formula, PackParams, Whole, formula_over

Exponent = Annotated[Whole, Ge(1), Le(12)]


def _increasing(value: tuple[float, float]) -> tuple[float, float]:
    if not value[0] < value[1]:
        raise ValueError(f"found {list(value)}, write [low, high] with low < high")
    return value


class PowerParams(PackParams):
    """u^p."""

    p: Exponent = Field(1, description="exponent, 1 to 12")
    of: FieldName | None = Field(None, description="field to raise; default: the field of this equation")


class ProductParams(PackParams):
    """∏ field^power."""

    powers: dict[FieldName, Exponent] = Field(description="exponent per field, e.g. {u: 2, v: 1}", min_length=1)


class ConstantParams(PackParams):
    """The function 1."""


class SourceParams(PackParams):
    """f(x, t)."""

    value: Formula = Field(description="f(x, t)")


class ReactionParams(PackParams):
    """r(u): a formula, or weights learned from data."""

    rate: formula_over("u") | None = Field(None, description="r(u), a formula of u")  # type: ignore[valid-type]
    weights: FilePath | None = Field(
        None, description="weights made by gleg train, without ending, relative to the problem file"
    )
    of: FieldName | None = Field(None, description="field that reacts; default: the field of this equation")
    degree: int = Field(12, ge=0, le=200, description="training: degree of the Chebyshev series of r")
    range: Annotated[tuple[float, float], AfterValidator(_increasing)] = Field(
        (-1.0, 1.0), description="training: values of u it covers"
    )

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if self.rate is not None and self.weights is not None:
            raise ValueError("'rate' and 'weights' exclude each other: a formula, or learned from data")
        return self
