"""Checks, what they are applied to, and what they find."""

import importlib
import importlib.util
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, wraps
from pathlib import Path
from typing import Any, NoReturn, Self, TypeVar

from pydantic import BaseModel

from gleg_core.errors import PackError
from gleg_core.pack import CONTRACTS
from gleg_core.registry import Component, Offered, Registry, default_registry
from gleg_core.registry.records import printable
from gleg_core.spec.params import Scope

T = TypeVar("T")
F = TypeVar("F", bound=Callable[[Any], Any])
_MODULES = (
    "components",
    "bases",
    "basis_transforms",
    "local_cells",
    "local_edges",
    "local_accuracy",
    "blocks",
    "block_structure",
    "block_derivatives",
    "block_weights",
    "block_realisation",
    "block_elements",
    "block_dynamics",
    "boundaries",
    "integrators",
    "dictionaries",
    "domains",
    "domain_corners",
    "domain_curves",
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

    @classmethod
    def worst(cls, gaps: Iterable[tuple[float, str]], limit: float, what: str) -> Self:
        """The largest of measured numbers, each with the label of where it was measured."""
        value, label = worst(gaps)
        return cls(value, limit, f"{what} ({label})")

    @property
    def good(self) -> bool:
        return self.measured <= self.limit  # not-a-number is not good


class NotApplicable(Exception):
    """A check that has nothing to examine in this component; the text says why."""


class Violation(Exception):
    """A component breaks its contract in a way that is no matter of degree."""


def not_applicable(reason: str) -> NoReturn:
    raise NotApplicable(reason)


def needed(registry: Registry, **named: str) -> list[Component]:
    """Components that a check works with, by contract; where one is missing the check does not apply, and the registry says what
    brings it."""
    try:
        return [registry.find(contract, name) for contract, name in named.items()]
    except PackError as error:
        not_applicable(printable(str(error), 400))


def worst(gaps: Iterable[tuple[float, str]]) -> tuple[float, str]:
    """The largest of measured numbers, each with its label; what is not a number counts as the largest."""
    return max(gaps, key=lambda gap: math.inf if math.isnan(gap[0]) else gap[0])


def applies_if(holds: object, otherwise: str) -> None:
    """End the check as not applicable, for this reason, unless ``holds``."""
    if not holds:
        raise NotApplicable(otherwise)


def require(holds: object, otherwise: str) -> None:
    """Fail the check with this message unless ``holds``."""
    if not holds:
        raise Violation(otherwise)


CheckFunction = Callable[[Subject], Finding | None]
"""Returns a finding, or None if nothing was measured and nothing is wrong; raises Violation or NotApplicable. Any other exception is
a failure of the component as well."""


@dataclass(frozen=True)
class Check:
    """A check of one or several contracts; ``pack`` is the one that adds it to the kit, nothing for the kit's own."""

    id: str
    title: str
    function: CheckFunction
    contracts: tuple[str, ...]
    group: str
    pack: str = ""


_CHECKS: dict[str, Check] = {}


def check(*contracts: str, group: str, of: Callable[[Subject], Any] | None = None) -> Callable[[F], F]:
    """Add a function of this package to the kit, for the given contracts (all of them if none is named).

    Its id is the name of the function with hyphens, its title the docstring's first line. It is given the subject, or what ``of``
    makes of the subject.
    """

    def add(function: F) -> F:
        @wraps(function)
        def run(subject: Subject) -> Finding | None:
            return function(of(subject) if of else subject)

        title = (function.__doc__ or "").strip().partition("\n")[0].rstrip(".")
        made = Check(function.__name__.replace("_", "-"), title, run, contracts or tuple(CONTRACTS), group)
        if made.id in _CHECKS or not made.title:
            raise ValueError(f"a check needs a name of its own and a docstring: {made.id}")
        _CHECKS[made.id] = made
        return function

    return add


@cache
def own_checks() -> Mapping[str, Check]:
    """Id → check, of the kit itself."""
    for module in _MODULES:
        importlib.import_module(f"gleg_conformance.{module}")
    return _CHECKS


def all_checks(registry: Registry | None = None) -> Mapping[str, Check]:
    """Id → check: the kit's own, then those that installed packs list under ``gleg_checks``, as ``pack:name`` where a name is taken."""
    registry, found = registry or default_registry(), dict(own_checks())
    for offered in registry.tools("gleg_checks"):
        made = _added(offered, registry, offered.key if offered.tool.name in found else offered.tool.name)
        found[made.id] = made
    return found


def _added(offered: Offered, registry: Registry, key: str) -> Check:
    """A check of another pack, imported when it is run; one that is broken fails, for nobody knows what it would have found."""

    def run(subject: Subject) -> Finding | None:
        try:
            registry.required("gleg_checks", offered.key)
        except PackError as error:  # what it needs is not installed
            not_applicable(printable(str(error), 400))
        try:
            found = registry.target(offered)(subject)
        except PackError as error:
            raise Violation(printable(str(error), 400)) from error
        if not isinstance(found, Finding | None):
            said = f"returned {type(found).__name__} instead of a Finding or None"
            raise Violation(f"{offered.pack}: its check '{offered.tool.name}' {said}")
        return found

    facts, title = offered.tool.facts, offered.tool.summary.rstrip(".")
    stated = facts.get("contracts") or list(CONTRACTS)
    contracts = tuple(stated) if isinstance(stated, list | tuple) else (stated,)
    return Check(key, title, run, contracts, str(facts.get("group", "other")), offered.pack.id)


def checks_of(contract: str, registry: Registry) -> list[Check]:
    return [c for c in all_checks(registry).values() if contract in c.contracts]
