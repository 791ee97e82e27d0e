"""Checks, what they are applied to, and what they find."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel

from gleg_core.pack import CONTRACTS
from gleg_core.registry import Component, Registry
from gleg_core.spec.params import Scope

T = TypeVar("T")
_MODULES = (
    "components",
    "bases",
    "basis_transforms",
    "blocks",
    "block_structure",
    "block_derivatives",
    "block_weights",
    "block_realisation",
    "block_dynamics",
    "boundaries",
    "integrators",
    "dictionaries",
    "domains",
    "domain_corners",
)


@dataclass(frozen=True)
class Subject:
    """A component together with one of its examples: what a check examines."""

    component: Component
    registry: Registry
    example: Mapping[str, Any] = field(default_factory=dict)
    built: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """What the checks of this example build once and share; see :meth:`once`."""

    def once(self, name: str, build: Callable[[], T]) -> T:
        """What ``build`` gave the first time it was asked for under this name."""
        if name not in self.built:
            self.built[name] = build()
        return self.built[name]

    def params(self, *, dim: int = 2, fields: tuple[str, ...] = ("u", "v")) -> BaseModel:
        """The example, validated as in a problem of this dimension with these fields."""
        model = self.registry.params(self.component)
        return model.model_validate(dict(self.example), context=Scope(dim=dim, fields=fields, folder=self.folder))

    def make(self, *arguments: Any, dim: int = 2, fields: tuple[str, ...] = ("u", "v")) -> Any:
        """What the factory gives for the example; ``arguments`` follow the parameters as the contract says."""
        return self.registry.factory(self.component)(self.params(dim=dim, fields=fields), *arguments)

    @cached_property
    def folder(self) -> str:
        """Where relative paths in examples start: beside the pack's entry module, so that a pack can ship the data they need."""
        spec = importlib.util.find_spec(self.component.pack.module)
        return str(Path(spec.origin).parent) if spec and spec.origin else "."

    @property
    def capabilities(self) -> Any:
        """What the entry states, as the record of its contract."""
        return self.component.capabilities(CONTRACTS[self.component.contract].capabilities)

    @cached_property
    def dims(self) -> tuple[int, ...]:
        """Space dimensions the entry declares (``dim`` or ``dims``), else two."""
        stated = self.capabilities
        return stated.dims if hasattr(stated, "dims") else (getattr(stated, "dim", 2),)


@dataclass(frozen=True)
class Finding:
    """``measured`` against the largest value allowed, ``limit``; ``what`` says in words what was measured."""

    measured: float
    limit: float
    what: str

    @property
    def good(self) -> bool:
        return self.measured <= self.limit  # not-a-number is not good


class NotApplicable(Exception):
    """A check that has nothing to examine in this component; the text says why."""


class Violation(Exception):
    """A component breaks its contract in a way that is no matter of degree."""


def not_applicable(reason: str) -> NoReturn:
    raise NotApplicable(reason)


def require(holds: bool, otherwise: str) -> None:
    """Fail the check with a message unless ``holds``."""
    if not holds:
        raise Violation(otherwise)


CheckFunction = Callable[[Subject], Finding | None]
"""Returns a finding, or None if nothing was measured and nothing is wrong; raises Violation or NotApplicable. Any other exception is
a failure of the component as well."""


@dataclass(frozen=True)
class Check:
    """A check of one or several contracts. Its ``id`` is the name of the function with hyphens, its title the docstring's first line."""

    function: CheckFunction
    contracts: tuple[str, ...]
    group: str

    @property
    def id(self) -> str:
        return self.function.__name__.replace("_", "-")

    @property
    def title(self) -> str:
        return (self.function.__doc__ or "").strip().partition("\n")[0].rstrip(".")


_CHECKS: dict[str, Check] = {}


def check(*contracts: str, group: str) -> Callable[[CheckFunction], CheckFunction]:
    """Add a function to the kit, for the given contracts (all of them if none is named)."""

    def add(function: CheckFunction) -> CheckFunction:
        made = Check(function, contracts or tuple(CONTRACTS), group)
        if made.id in _CHECKS or not made.title:
            raise ValueError(f"a check needs a name of its own and a docstring: {made.id}")
        _CHECKS[made.id] = made
        return function

    return add


@cache
def all_checks() -> Mapping[str, Check]:
    """Id → check, for the whole kit."""
    for module in _MODULES:
        importlib.import_module(f"gleg_conformance.{module}")
    return _CHECKS


def checks_of(contract: str) -> list[Check]:
    return [c for c in all_checks().values() if contract in c.contracts]
