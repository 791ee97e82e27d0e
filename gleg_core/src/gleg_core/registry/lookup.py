"""The registry itself: looking up components by name, importing only what is asked for."""

from __future__ import annotations

import importlib
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, reduce
from types import MappingProxyType
from typing import Any

from gleg_core.errors import GlegError, PackError, did_you_mean, listing, nearest
from gleg_core.pack import CONTRACT_HOOKS
from gleg_market.catalogue import Offer, read_catalogue, shipped_catalogue
from gleg_core.registry.installed import canonical, read_claims
from gleg_core.registry.loading import load
from gleg_core.registry.records import Component, Failure, Pack, import_remedy, one_line


@dataclass(frozen=True)
class Registry:
    """The packs of one environment. ``catalogue`` tells what could be installed; it is asked only when a name is unknown."""

    packs: tuple[Pack, ...] = ()
    failures: tuple[Failure, ...] = ()
    catalogue: Callable[[], Sequence[Offer]] = tuple

    @classmethod
    def discover(
        cls,
        *,
        only: Iterable[str] | None = None,
        strict: bool | None = None,
        catalogue: Callable[[], Sequence[Offer]] = tuple,
    ) -> Registry:
        """Load every installed pack, or those in ``only``.

        ``only`` defaults to the comma-separated ids in GLEG_PACKS, ``strict`` to GLEG_STRICT=1. A strict registry
        has no failures: any of them raises a PackError that lists them all.
        """
        claims, failures = read_claims(_allowed(os.environ.get("GLEG_PACKS", "")) if only is None else frozenset(only))
        packs = []
        for claim in claims:
            outcome = load(claim)
            if isinstance(outcome, Failure):
                failures.append(outcome)
            else:
                packs.append(outcome)
        failures.sort(key=lambda f: (f.pack, f.distribution))
        if failures and (_is_on(os.environ.get("GLEG_STRICT", "")) if strict is None else strict):
            raise PackError("\n".join(map(str, failures)))
        return cls(tuple(packs), tuple(failures), catalogue)

    def entries(self, contract: str) -> Mapping[str, Component]:
        """Full key ``pack:name`` → component, for one contract."""
        if contract not in CONTRACT_HOOKS:
            hint = did_you_mean(contract, CONTRACT_HOOKS)
            raise PackError(f"there is no contract '{contract}'.{hint} Contracts: {listing(CONTRACT_HOOKS)}.")
        return self._index[contract]

    def find(self, contract: str, name: str) -> Component:
        """The component called ``pack:name``, or by its bare name while that is unique."""
        components = self.entries(contract)
        if name in components:
            return components[name]
        keys = self._bare[contract].get(name, [])
        if len(keys) > 1:
            raise PackError(f"the {contract} '{name}' is ambiguous. Write one of: {listing(keys)}.")
        if not keys:
            raise PackError(self._unknown(contract, name))
        return components[keys[0]]

    def params(self, component: Component) -> type[Any]:
        """The model of the component's parameters; imports the module that holds it."""
        model = _resolve(component, component.entry.params)
        if not isinstance(model, type):
            raise _unusable(component, f"'{component.entry.params}' is not a class", None)
        return model

    def factory(self, component: Component) -> Callable[..., Any]:
        """The callable that makes the component; imports the module that holds it."""
        factory = _resolve(component, component.entry.factory)
        if not callable(factory):
            raise _unusable(component, f"'{component.entry.factory}' is not callable", None)
        return factory

    @cached_property
    def versions(self) -> Mapping[str, str]:
        """Canonical distribution name → installed version, whether its packs are usable or refused."""
        refused = {canonical(f.distribution): f.version for f in self.failures}
        return refused | {canonical(p.distribution): p.version for p in self.packs}

    @cached_property
    def _index(self) -> Mapping[str, Mapping[str, Component]]:
        """Contract → full key → component, in the order of keys."""
        found: dict[str, dict[str, Component]] = {contract: {} for contract in CONTRACT_HOOKS}
        for pack in self.packs:
            for contract, entries in pack.entries.items():
                for entry in entries:
                    key = f"{pack.id}:{entry.name}"
                    found[contract][key] = Component(key, pack, contract, entry)
        return {contract: MappingProxyType(dict(sorted(table.items()))) for contract, table in found.items()}

    @cached_property
    def _bare(self) -> Mapping[str, Mapping[str, list[str]]]:
        """Contract → bare name → full keys."""
        found: dict[str, dict[str, list[str]]] = {contract: defaultdict(list) for contract in CONTRACT_HOOKS}
        for contract, table in self._index.items():
            for key, component in table.items():
                found[contract][component.entry.name].append(key)
        return found

    def _unknown(self, contract: str, name: str) -> str:
        """Why ``name`` is not there, and what would bring it."""
        pack, colon, bare = name.rpartition(":")
        names, keys = self._bare[contract], self._index[contract]
        elsewhere = names.get(bare, []) if colon else []
        close = f" Did you mean '{elsewhere[0]}'?" if elsewhere else did_you_mean(name, [*names, *keys])
        lines = [f"no installed pack provides the {contract} '{name}'.{close}"]
        lines += [f"  {line}" for line in self._offers(contract, name, guess=not close)]
        lines += [f"  '{key}' is a {other}." for other in CONTRACT_HOOKS for key in self._same_name(other, name)]
        failed = [f for f in self.failures if not colon or f.pack == pack]
        if failed:
            lines.append("  It may be in a pack that could not be loaded:")
            lines += ["    " + str(failure).replace("\n", "\n    ") for failure in failed]
        shown = names if all(len(owners) == 1 for owners in names.values()) else keys
        lines.append(f"  Installed: {listing(shown)}")
        return "\n".join(lines)

    def _same_name(self, contract: str, name: str) -> list[str]:
        """Keys of ``contract`` that ``name`` would mean there."""
        return [name] if name in self._index[contract] else self._bare[contract].get(name, [])

    def _offers(self, contract: str, name: str, guess: bool) -> list[str]:
        """What the catalogue knows of ``name``: who provides it; else its pack; else, if ``guess``, what it may be meant for."""
        try:
            known, trouble = self.catalogue(), []
        except GlegError as error:
            known, trouble = shipped_catalogue(), [str(error)]
        known = [o for o in known if o.contract == contract]
        pack = name.partition(":")[0] if ":" in name else None
        lines = [f"It is in {self._installation(o)}" for o in known if name in (o.key, o.name)]
        siblings = [o for o in known if o.pack == pack and pack not in {p.id for p in self.packs}]
        if not lines and siblings:
            names = [o.name for o in siblings]
            hint = did_you_mean(name.partition(":")[2], names) or f" It offers {listing(names)}."
            lines = [f"'{pack}' has no such {contract}.{hint} It is in {self._installation(siblings[0])}"]
        elif not lines and guess:
            close = nearest(name, [word for o in known for word in (o.key, o.name)])
            lines = [f"Perhaps '{o.key}', in {self._installation(o)}" for o in known if close in (o.key, o.name)]
        return [*dict.fromkeys(lines), *trouble]

    def _installation(self, offer: Offer) -> str:
        """The distribution of an offer, and the command that brings it."""
        name = offer.distribution
        version = self.versions.get(canonical(name))
        if version is None:
            return f"{name}:   pip install {name}"
        return f"{name}, of which {version} is installed:   pip install --upgrade {name}"


@cache
def default_registry() -> Registry:
    """The registry of this environment, discovered once per process, with the catalogue for install hints."""
    return Registry.discover(catalogue=read_catalogue)


def _allowed(text: str) -> frozenset[str] | None:
    """Comma-separated ids → set; None, meaning every pack, if there are none."""
    return frozenset(word.strip() for word in text.split(",") if word.strip()) or None


def _is_on(text: str) -> bool:
    return text.strip().lower() in ("1", "true", "yes", "on")


def _resolve(component: Component, reference: str) -> object:
    """The object behind ``module:attribute``."""
    module, _, attribute = reference.partition(":")
    try:
        return reduce(getattr, attribute.split("."), importlib.import_module(module))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise _unusable(component, one_line(error), error) from error


def _unusable(component: Component, message: str, error: BaseException | None) -> PackError:
    pack = component.pack
    remedy = import_remedy(error, pack.distribution) if error else f"pip install --upgrade {pack.distribution}"
    text = f"the {component.contract} '{component.key}' cannot be used."
    return PackError(f"{text} {Failure(pack.id, pack.distribution, pack.version, 'import', message, remedy)}")
