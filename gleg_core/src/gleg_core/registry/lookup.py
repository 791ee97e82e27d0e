"""The registry itself: looking up what packs offer by name, importing only what is asked for.

Packs of this project are read at once: their entry modules are light. A stranger's pack is read when something is asked for that may be
its own: its full key ``pack:name``, a name that no first-party pack offers, or a list of everything. A first-party name therefore means
the same whatever else is installed, and a slow or broken stranger costs an unrelated problem nothing.
"""

import importlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import cache, reduce
from types import MappingProxyType
from typing import Any, TypeVar

from gleg_core.errors import PackError, did_you_mean, listing
from gleg_core.pack import CONTRACTS, Keys, Tool
from gleg_core.registry import absent
from gleg_core.registry.catalogue import Offer, bringer, canonical, shipped_offers
from gleg_core.registry.containment import contained
from gleg_core.registry.installed import Claim, read_claims
from gleg_core.registry.loading import load
from gleg_core.registry.records import Component, Failure, Offered, OfferedKeys, Pack, import_remedy, one_line

X = TypeVar("X", Component, Offered)


class Registry:
    """The packs of one environment. ``catalogue`` tells what could be installed; it is asked only when a name is unknown.
    ``waiting`` are strangers' packs that have not been read yet."""

    def __init__(
        self,
        packs: Iterable[Pack] = (),
        failures: Iterable[Failure] = (),
        catalogue: Callable[[], Sequence[Offer]] | None = None,
        waiting: Iterable[Claim] = (),
    ):
        self._packs = {pack.id: pack for pack in packs}
        self._failures = list(failures)
        self._waiting = {claim.pack: claim for claim in waiting}
        self.catalogue = catalogue or self._all_offers

    @classmethod
    def discover(
        cls,
        *,
        only: Iterable[str] | None = None,
        strict: bool | None = None,
        catalogue: Callable[[], Sequence[Offer]] | None = None,
    ) -> "Registry":
        """Every installed pack, or those in ``only``.

        ``only`` defaults to the comma-separated ids in GLEG_PACKS, ``strict`` to GLEG_STRICT=1. A strict registry
        has no failures: any of them raises a PackError that lists them all.
        """
        named = filter(None, map(str.strip, os.environ.get("GLEG_PACKS", "").split(",")))
        claims, failures = read_claims((frozenset(named) or None) if only is None else frozenset(only))
        registry = cls((), failures, catalogue, claims)
        for claim in claims:
            if claim.first_party:
                registry.pack(claim.pack)
        if strict is None:
            strict = os.environ.get("GLEG_STRICT", "").strip().lower() in ("1", "true", "yes", "on")
        if strict and registry.failures:
            raise PackError("\n".join(map(str, registry.failures)))
        return registry

    def pack(self, pack: str) -> Pack | None:
        """The pack with this id, read now if it has been waiting; None if there is none that can be used."""
        if (claim := self._waiting.pop(pack, None)) is not None:
            outcome = load(claim)
            if isinstance(outcome, Failure):
                self._failures.append(outcome)
            else:
                self._packs[pack] = outcome
        return self._packs.get(pack)

    @property
    def packs(self) -> tuple[Pack, ...]:
        """All packs that can be used, in the order of their ids."""
        for pack in list(self._waiting):
            self.pack(pack)
        return tuple(pack for _, pack in sorted(self._packs.items()))

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Packs that were refused, with reason and remedy."""
        _ = self.packs
        return tuple(sorted(self._failures, key=lambda f: (f.pack, f.distribution)))

    @property
    def _own(self) -> list[Pack]:
        """Those of this project."""
        return [pack for pack in self._packs.values() if pack.first_party]

    def _with_own(self, also: Iterable[Pack]) -> list[Pack]:
        return [*self._own, *(pack for pack in also if not pack.first_party)]

    # --- components ---

    def entries(self, contract: str, also: Iterable[Pack] | None = None) -> Mapping[str, Component]:
        """Full key ``pack:name`` → component, for one contract, in the order of keys: of all packs, or of this project's and ``also`` of
        packs in use."""
        _require(contract)
        packs = self.packs if also is None else self._with_own(also)
        found = {c.key: c for pack in packs for c in _components(pack, contract)}
        return MappingProxyType(dict(sorted(found.items())))

    def find(self, contract: str, name: str) -> Component:
        """The component called ``pack:name``, or by its bare name: that of a first-party pack, else the only one there is."""
        _require(contract)
        found = self._only(contract, name, lambda pack: _components(pack, contract))
        if found is None:
            raise PackError(absent.component(self, contract, name))
        return found

    def _only(self, what: str, name: str, offered: Callable[[Pack], Iterable[X]]) -> X | None:
        """The one that a name means. A bare name means that of a first-party pack, and where one exists but is not installed, nothing."""
        pack, colon, bare = name.rpartition(":")
        packs: Iterable[Pack] = [owner] if colon and (owner := self.pack(pack)) else [] if colon else self._own
        found = [x for p in packs for x in offered(p) if x.key.endswith(f":{bare}")]
        if not (found or colon or bringer(what, bare)):
            found = [x for p in self.packs for x in offered(p) if x.key.endswith(f":{bare}")]
        if len(found) > 1:
            raise PackError(f"the {what} '{name}' is ambiguous. Write one of: {listing(x.key for x in found)}.")
        return found[0] if found else None

    def params(self, component: Component) -> type[Any]:
        """The model of the component's parameters; imports the module that holds it."""
        what = f"the {component.contract} '{component.key}'"
        return _imported(component.pack, component.entry.params, what, lambda found: isinstance(found, type), "a class")

    def factory(self, component: Component) -> Callable[..., Any]:
        """The callable that makes the component; imports the module that holds it."""
        what = f"the {component.contract} '{component.key}'"
        return _imported(component.pack, component.entry.factory, what, callable, "callable")

    # --- tools ---

    def tools(self, hook: str) -> tuple[Offered, ...]:
        """All that packs list under a hook of the table, or under one of a stranger's; those of first-party packs first."""
        return tuple(o for pack in sorted(self.packs, key=lambda p: not p.first_party) for o in _tools(pack, hook))

    def own_tools(self, hook: str, also: Iterable[Pack] = ()) -> list[Offered]:
        """Those of first-party packs, and ``also`` of packs in use: what acts unnamed must not depend on who else is installed."""
        return [o for pack in self._with_own(also) for o in _tools(pack, hook)]

    def tool(self, hook: str, name: str) -> Offered | None:
        """The tool called ``pack:name``, or by its bare name: that of a first-party pack, else the only one there is."""
        return self._only(absent.words(hook), name, lambda pack: _tools(pack, hook))

    def required(self, hook: str, name: str) -> Offered:
        """The same, with what it needs; or an error that says which pip command brings it, or what else there is."""
        if (found := self.tool(hook, name)) is None:
            raise PackError(self.missing(hook, name) or absent.tool(self, hook, name))
        absent.require_needs(found)
        return found

    def missing(self, hook: str, name: str) -> str | None:
        """For a tool of this project that is not installed: what brings it."""
        distribution = bringer(absent.words(hook), name)
        brings = None if distribution is None else absent.installation(self, distribution)
        return brings and f"the {absent.words(hook)} '{name}' comes with {brings}"

    def target(self, offered: Offered) -> Any:
        """The object behind a tool; imports the module that holds it."""
        absent.require_needs(offered)
        return _imported(offered.pack, offered.tool.target, f"'{offered.key}'")

    # --- keys of problem files ---

    def keys(self, at: str, *, strangers: bool = False) -> dict[str, OfferedKeys]:
        """Name → keys that may stand at a place: those of first-party packs, or of all."""
        packs = sorted(self.packs, key=lambda p: p.first_party) if strangers else self._own
        return {word: o for pack in packs for o in _keys(pack, at) for word in o.keys.names}

    def key(self, at: str, name: str) -> OfferedKeys | None:
        """The keys a word belongs to at a place: those of a first-party pack, else of the only one that has it."""
        if name in (own := self.keys(at)) or bringer("keys", name):
            return own.get(name)
        found = [o for pack in self.packs for o in _keys(pack, at) if name in o.keys.names]
        if len(found) > 1:
            keep = "   or   ".join(f"pip uninstall {o.pack.distribution}" for o in found)
            claimed = " and by ".join(str(o.pack) for o in found)
            raise PackError(f"claimed by {claimed}; none of them is used. Keep one: {keep}")
        return found[0] if found else None

    def model(self, offered: OfferedKeys) -> Any:
        """The model of keys."""

        def fits(model: Any) -> bool:
            fields = getattr(model, "model_fields", {})
            return set(offered.keys.names) <= set(fields) and not any(f.is_required() for f in fields.values())

        needed = f"a pydantic model with {listing(offered.keys.names)}, nothing in it required"
        return _imported(offered.pack, offered.keys.model, f"the key '{offered.keys.names[0]}'", fits, needed)

    def function(self, offered: OfferedKeys, reference: str) -> Any:
        """A function of keys; imports the module that holds it."""
        return _imported(offered.pack, reference, f"the key '{offered.keys.names[0]}'", callable, "callable")

    # --- what could be installed ---

    @property
    def versions(self) -> Mapping[str, str]:
        """Canonical distribution name → installed version, whether its packs are usable, refused or not read yet."""
        known: list[Claim | Failure | Pack] = [*self._waiting.values(), *self._failures, *self._packs.values()]
        return {canonical(one.distribution): one.version for one in known}

    def _all_offers(self) -> Sequence[Offer]:
        """What the packs of catalogues know, else what core knows by itself."""
        found = [offer for o in self.own_tools("gleg_catalogues") for offer in self.target(o)()]
        return found or shipped_offers()


@cache
def default_registry() -> Registry:
    """The registry of this environment, discovered once per process."""
    return Registry.discover()


def _require(contract: str) -> None:
    if contract not in CONTRACTS:
        hint = did_you_mean(contract, CONTRACTS)
        raise PackError(f"there is no contract '{contract}'.{hint} Contracts: {listing(CONTRACTS)}.")


def _components(pack: Pack, contract: str) -> Iterator[Component]:
    return (Component(f"{pack.id}:{e.name}", pack, contract, e) for e in pack.entries.get(contract, ()))


def _tools(pack: Pack, hook: str) -> Iterator[Offered]:
    return (Offered(pack, tool) for tool in pack.tools.get(hook, ()) if isinstance(tool, Tool))


def _keys(pack: Pack, at: str) -> Iterator[OfferedKeys]:
    for keys in pack.tools.get("gleg_keys", ()):
        if isinstance(keys, Keys) and keys.at == at:
            yield OfferedKeys(pack, keys)


def _imported(
    pack: Pack, reference: str, what: str, fits: Callable[[Any], bool] = lambda found: True, needed: str = ""
) -> Any:
    """The object behind ``module:attribute``, if it is what is needed."""
    module, _, attribute = reference.partition(":")
    error: BaseException | None = None
    try:
        with nullcontext() if pack.first_party else contained():
            found = reduce(getattr, attribute.split("."), importlib.import_module(module))
        if fits(found):
            return found
        message, remedy = f"'{reference}' is not {needed}", f"pip install --upgrade {pack.distribution}"
    except KeyboardInterrupt:
        raise
    except BaseException as raised:
        error, message, remedy = raised, one_line(raised), import_remedy(raised, pack.distribution)
    refusal = Failure(pack.id, pack.distribution, pack.version, "import", message, remedy)
    raise PackError(f"{what} cannot be used. {refusal}") from error
