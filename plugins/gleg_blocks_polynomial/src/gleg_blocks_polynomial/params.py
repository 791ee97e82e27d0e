"""Keys of the polynomial mechanisms in a problem file. Torch is not imported to check them."""

from typing import Annotated

from annotated_types import Ge, Le
from pydantic import Field

from gleg_core.spec.params import FieldName, Formula, PackParams, ScalarLawParams, Whole, formula_over

Exponent = Annotated[Whole, Ge(1), Le(12)]


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


class ConservedReactionParams(PackParams):
    """r(u) minus its mean over Ω."""

    rate: formula_over("u") = Field(description="r(u), a formula of u")  # type: ignore[valid-type]
    of: FieldName | None = Field(None, description="field it acts on; default: the field of this equation")


class ReactionParams(ScalarLawParams):
    """r(u): a formula, or weights learned from data."""

    formula_key = "rate"
    rate: formula_over("u") | None = Field(None, description="r(u), a formula of u")  # type: ignore[valid-type]
