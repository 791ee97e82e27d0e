"""What a component says about itself before it is made: one typed record per contract, shown in listings and read by core.

An entry may state its capabilities as one of these records or as a mapping of the same keys. What does not fit is refused when the
pack is loaded, with the name of the key and of the pack. Nothing heavy is imported here.
"""

import types
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NoReturn, TypeVar, Union, dataclass_transform, get_args, get_origin, get_type_hints

from gleg_core.errors import did_you_mean, listing

C = TypeVar("C", bound="Capabilities")


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Capabilities:
    """What components of every contract may state. Class attributes are the defaults, ``vars`` of a record is what was stated.

    Not a dataclass: every command makes these classes, and the methods that would be generated for them take as long as loading a pack.
    """

    expected_failures: Mapping[str, str] = types.MappingProxyType({})
    """Conformance checks it cannot pass → why that is right."""

    def __init__(self, **stated: object) -> None:
        if unknown := stated.keys() - _hints(type(self)).keys():
            raise TypeError(f"{type(self).__name__} has no '{min(unknown)}'")
        vars(self).update(stated)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} cannot be changed")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._differing() == other._differing()

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self._differing().items())})"

    def _differing(self) -> dict[str, Any]:
        """What differs from the defaults, in the order of the record."""
        keys = [key for key in _hints(type(self)) if key in vars(self)]
        return {key: vars(self)[key] for key in keys if vars(self)[key] != getattr(type(self), key)}

    def stated(self) -> dict[str, Any]:
        """The same as plain data for listings."""
        own = self._differing()
        own.pop("expected_failures", None)
        return {name: list(value) if isinstance(value, tuple) else value for name, value in own.items()}


class BasisCapabilities(Capabilities):
    """Of a basis; ``periodic`` and ``isotropic`` as its class has them."""

    dims: tuple[int, ...] = (1, 2, 3)
    """Space dimensions it works in."""
    periodic: bool = False
    isotropic: bool = True
    resolution: str | None = None
    """The parameter that sets how much it resolves, a whole number or ``auto``; without it ``accuracy`` cannot choose."""
    local: bool = False
    """Its functions have small supports: it can represent solutions that are not smooth, and costs more where they are."""
    tolerance: str | None = None
    """The parameter of a local basis that takes a relative error to aim at; without it ``accuracy`` cannot choose."""


class BlockCapabilities(Capabilities):
    """Of a mechanism; the first four as in its traits, in words where they depend on parameters."""

    structure: str = ""
    order: int | None = None
    degree: int | str | None = None
    modes: tuple[str, ...] = ()
    dims: tuple[int, ...] = (1, 2, 3)
    learned: str | None = None
    """``"module:Class"`` derived from LearnedBlock, if it can be trained."""
    weights: str | None = None
    """``"package:stem"`` of the trained weights it comes with; None if a problem file names them."""


class BoundaryCapabilities(Capabilities):
    """Of a boundary condition; ``conditions``: scalar conditions per boundary point."""

    conditions: int | None = None
    natural: bool = False
    """It says what the normal derivative is, so that a weak form carries it."""
    prescribes: str | None = None
    """The parameter that is the value of u there."""
    dims: tuple[int, ...] = (1, 2, 3)


class IntegratorCapabilities(Capabilities):
    """Of a time integrator: order of convergence; ``stiff``: stable for any step of the linear part; ``embedded``: estimates its error;
    ``exponential``: exact for a linear system."""

    order: int | None = None
    stiff: bool = False
    embedded: bool = False
    exponential: bool = False


class DictionaryCapabilities(Capabilities):
    """Of a set of candidates: highest derivative and degree among them."""

    order: int | None = None
    degree: int | str | None = None


class DomainCapabilities(Capabilities):
    """Of a shape: its dimension and the names of its segments, in words where they depend on parameters."""

    dim: int = 2
    segments: str = ""


def capabilities(kind: type[C], stated: Capabilities | Mapping[str, object]) -> C:
    """The record of what an entry states; ValueError says what is wrong with it."""
    if isinstance(stated, kind):
        return stated
    if not isinstance(stated, Mapping):
        raise ValueError(f"a mapping or {kind.__name__} is needed, found {type(stated).__name__}")
    hints = _hints(kind)
    for key, value in stated.items():
        if key not in hints:
            raise ValueError(f"unknown key '{key}'.{did_you_mean(str(key), hints)} Allowed: {listing(hints, 30)}")
        if not _fits(value, hints[key]):
            raise ValueError(f"'{key}' is {value!r}, {_words(hints[key])} is needed")
        if key in ("dim", "dims") and not set(value if isinstance(value, list | tuple) else (value,)) <= {1, 2, 3}:
            raise ValueError(f"'{key}' is {value!r}, dimensions are 1, 2 or 3")
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in stated.items()}
    return kind(**values)


_hints: Callable[[type], Mapping[str, Any]] = cache(get_type_hints)


def _fits(value: object, hint: Any) -> bool:
    """Whether a value is of a type as the records use them; true is no number."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, arg) for arg in args)
    if origin is tuple:
        return isinstance(value, list | tuple) and all(_fits(v, args[0]) for v in value)
    if origin is not None:
        return isinstance(value, Mapping) and all(_fits(k, args[0]) and _fits(v, args[1]) for k, v in value.items())
    return type(value) is hint


def _words(hint: Any) -> str:
    names = {int: "a whole number", str: "a text", bool: "true or false", type(None): "nothing"}
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return " or ".join(_words(arg) for arg in args)
    if origin is tuple:
        return f"a list, each {_words(args[0])},"
    return names.get(hint, "a mapping of texts")
