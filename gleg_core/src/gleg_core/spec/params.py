"""Types for the parameter models of packs.

A pack's parameters are a pydantic model built from these types; a problem file may then write ``D``, ``2*pi*k`` or a formula
where a plain model would want a bare number::

    class Params(PackParams):
        rate: Positive = Field(description="growth rate, 1/time")
        capacity: Formula = Field(1.0, description="carrying capacity, may depend on x, y, t")

Named constants and formulas of the problem file reach the validators through pydantic's validation context.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from annotated_types import Ge, Gt
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from gleg_core.coordinates import COORDINATES
from gleg_core.errors import did_you_mean, listing
from gleg_core.expressions import Expression, FormulaError, formula

TEXT_OR_NUMBER = {"anyOf": [{"type": "number"}, {"type": "string"}]}


@dataclass(frozen=True)
class Scope:
    """What formulas in a problem file may refer to: constants and named formulas, the dimension, the fields."""

    names: Mapping[str, Expression | float] = field(default_factory=dict)
    dim: int = 2
    fields: tuple[str, ...] = ()
    folder: str = "."
    """Folder of the problem file: relative paths in it start here."""


def scope_of(info: ValidationInfo) -> Scope:
    """The scope that a validator works in."""
    return info.context if isinstance(info.context, Scope) else Scope()


class PackParams(BaseModel):
    """Base of every parameter model: unknown keys are errors, values are immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True, defer_build=True)


def formulas(value: Any) -> Iterator[Any]:
    """Every formula, and every :class:`gleg_core.contracts.location.Datum`, among parameters."""
    if isinstance(value, Expression) or all(hasattr(value, name) for name in ("key", "free", "number", "at")):
        yield value
    elif isinstance(value, BaseModel | Mapping):
        for _, child in value.items() if isinstance(value, Mapping) else value:
            yield from formulas(child)
    elif isinstance(value, list | tuple | set | frozenset):
        for child in value:
            yield from formulas(child)


def read_formula(value: Any, scope: Scope, variables: Iterable[str]) -> Expression:
    """A number or text → an expression over ``variables`` and the scope's names."""
    if isinstance(value, Expression):
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError(f"a number or a formula is needed, found {shown(value)}")
    if isinstance(value, (int, float)) and not abs(value) <= sys.float_info.max:
        raise ValueError(f"a finite number is needed, found {shown(value)}")
    usable = {k: v for k, v in scope.names.items() if not isinstance(v, Expression) or v.free <= set(variables)}
    try:
        return formula(value, variables, usable)
    except FormulaError as error:
        elsewhere = scope.names.get(error.unknown or "")
        if isinstance(elsewhere, Expression):
            beyond = listing(elsewhere.free - set(variables))
            raise ValueError(f"'{error.unknown}' depends on {beyond}, which is not possible here") from None
        raise


def shown(value: Any) -> str:
    """A value for a message, as it is written in a problem file."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    try:
        text = repr(value)
    except ValueError:  # an integer of thousands of digits
        return "a number with too many digits"
    return text if len(text) <= 60 else text[:57] + "…"


def formula_over(*variables: str) -> Any:
    """A field type for formulas over the given variables, e.g. ``formula_over("theta")`` for a polar curve."""
    return Annotated[_Written, BeforeValidator(lambda v, info: read_formula(v, scope_of(info), variables))]


def _plain(expression: Expression) -> float | str:
    """As it was written, so that a resolved problem file still follows its constants."""
    try:
        return float(expression.text)
    except ValueError:
        return expression.text


_Written = Annotated[Expression, PlainSerializer(_plain, return_type=Any), WithJsonSchema(TEXT_OR_NUMBER)]


def _over_space(value: Any, info: ValidationInfo, *more: str) -> Expression:
    scope = scope_of(info)
    return read_formula(value, scope, (*COORDINATES[: scope.dim], *more))


def _number(value: Any, info: ValidationInfo) -> float:
    try:
        expression = read_formula(value, scope_of(info), ())
    except FormulaError as error:
        raise ValueError(f"a number is needed: {error}") from None
    if expression.number is None:
        raise ValueError(f"a number is needed, '{value}' has no finite value")
    return expression.number


def _whole(value: Any, info: ValidationInfo) -> int:
    number = _number(value, info)
    if not float(number).is_integer():
        raise ValueError(f"a whole number is needed, found {shown(value)}")
    return int(number)


def _field_name(value: Any, info: ValidationInfo) -> str:
    fields = scope_of(info).fields
    if not isinstance(value, str) or (fields and value not in fields):
        close = did_you_mean(str(value), fields)
        raise ValueError(f"no field is called {shown(value)}. Fields: {listing(fields)}.{close}")
    return value


Formula = Annotated[_Written, BeforeValidator(lambda v, info: _over_space(v, info, "t"))]
"""A formula of the coordinates and t."""

SpaceFormula = Annotated[_Written, BeforeValidator(lambda v, info: _over_space(v, info))]
"""A formula of the coordinates only."""

Number = Annotated[float, BeforeValidator(_number), WithJsonSchema(TEXT_OR_NUMBER)]
"""A number, or a formula of named constants."""

Positive = Annotated[Number, Gt(0)]
NonNegative = Annotated[Number, Ge(0)]
Whole = Annotated[int, BeforeValidator(_whole), WithJsonSchema({"anyOf": [{"type": "integer"}, {"type": "string"}]})]
"""A whole number, or a formula of named constants with a whole value."""

FieldName = Annotated[str, BeforeValidator(_field_name)]
"""The name of a field of the problem."""


def _absolute(value: Any, info: ValidationInfo) -> str:
    """Relative to the problem file; absolute afterwards, so that a resolved problem in another folder still finds it."""
    if not isinstance(value, str):
        raise ValueError(f"a path is needed, found {value!r}")
    return str((Path(scope_of(info).folder) / value).absolute())


FilePath = Annotated[str, BeforeValidator(_absolute)]
"""A path, relative to the folder of the problem file."""


def _increasing(value: tuple[float, float]) -> tuple[float, float]:
    if not value[0] < value[1]:
        raise ValueError(f"found {list(value)}, the lower end must be below the upper one")
    return value


class ScalarLawParams(PackParams):
    """Keys of a mechanism whose one unknown is a function of u, given as a formula or learned from data.

    A subclass adds the formula's key and names it in ``formula_key``.
    """

    formula_key: ClassVar[str]
    weights: FilePath | None = Field(
        None, description="weights made by training, without ending, relative to the problem file"
    )
    of: FieldName | None = Field(None, description="field it acts on; default: the field of this equation")
    degree: int = Field(12, ge=0, le=200, description="training: degree of the Chebyshev series")
    range: Annotated[tuple[float, float], AfterValidator(_increasing)] = Field(
        (-1.0, 1.0), description="training: values of u it covers"
    )

    @model_validator(mode="after")
    def _not_both(self) -> Self:
        if getattr(self, self.formula_key) is not None and self.weights is not None:
            raise ValueError(f"'{self.formula_key}' and 'weights' exclude each other: a formula, or learned from data")
        return self
