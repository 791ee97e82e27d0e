"""The registry itself: looking up what packs offer by name, importing only what is asked for.

Packs of this project are read at once: their entry modules are light. A stranger's pack is read when something is asked for that may be
its own: its full key ``pack:name``, a name that no first-party pack offers, or a list of everything. A first-party name therefore means
the same whatever else is installed, and a slow or broken stranger costs an unrelated problem nothing.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import cache, reduce
from types import MappingProxyType
from typing import Any

from gleg_core.errors import GlegError, PackError, did_you_mean, listing, nearest
from gleg_core.pack import CONTRACTS, HOOKS, Keys, Tool
from gleg_core.registry.catalogue import Offer, bringer, canonical, shipped_offers
from gleg_core.registry.containment import contained
from gleg_core.registry.installed import Claim, read_claims
from gleg_core.registry.loading import load
from gleg_core.registry.records import Component, Failure, Offered, OfferedKeys, Pack, import_remedy, one_line


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
    ) -> Registry:
        """Every installed pack, or those in ``only``.

        ``only`` defaults to the comma-separated ids in GLEG_PACKS, ``strict`` to GLEG_STRICT=1. A strict registry
        has no failures: any of them raises a PackError that lists them all.
        """
        claims, failures = read_claims(_allowed(os.environ.get("GLEG_PACKS", "")) if only is None else frozenset(only))
        registry = cls((), failures, catalogue, claims)
        for claim in claims:
            if claim.first_party:
                registry._read(claim.pack)
        if (_is_on(os.environ.get("GLEG_STRICT", "")) if strict is None else strict) and registry.failures:
            raise PackError("\n".join(map(str, registry.failures)))
        return registry

    def _read(self, pack: str) -> Pack | None:
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
            self._read(pack)
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

    # --- components ---

    def entries(self, contract: str) -> Mapping[str, Component]:
        """Full key ``pack:name`` → component, for one contract, in the order of keys."""
        _require(contract)
        found = {c.key: c for pack in self.packs for c in _components(pack, contract)}
        return MappingProxyType(dict(sorted(found.items())))

    def find(self, contract: str, name: str) -> Component:
        """The component called ``pack:name``, or by its bare name: that of a first-party pack, else the only one there is."""
        _require(contract)
        pack, colon, bare = name.rpartition(":")
        if colon:
            owner = self._read(pack)
            found = [c for c in _components(owner, contract) if c.key == name] if owner else []
        else:
            found = self._called(
                contract, bare, lambda p: [c for c in _components(p, contract) if c.entry.name == bare]
            )
        if len(found) > 1:
            raise PackError(f"the {contract} '{name}' is ambiguous. Write one of: {listing(c.key for c in found)}.")
        if not found:
            raise PackError(self._unknown(contract, name))
        return found[0]

    def _called(self, contract: str, name: str, select: Callable[[Pack], list[Any]]) -> list[Any]:
        """What is selected from first-party packs; from all if the name is none of theirs, installed or not."""
        own = [x for p in self._own for x in select(p)]
        return own if own or bringer(contract, name) else [x for p in self.packs for x in select(p)]

    def params(self, component: Component) -> type[Any]:
        """The model of the component's parameters; imports the module that holds it."""
        model = self._import(component.pack, component.entry.params, f"the {component.contract} '{component.key}'")
        if not isinstance(model, type):
            raise _unusable(component.pack, f"the {component.contract} '{component.key}'",
                            f"'{component.entry.params}' is not a class", None)  # fmt: skip
        return model

    def factory(self, component: Component) -> Callable[..., Any]:
        """The callable that makes the component; imports the module that holds it."""
        what = f"the {component.contract} '{component.key}'"
        factory = self._import(component.pack, component.entry.factory, what)
        if not callable(factory):
            raise _unusable(component.pack, what, f"'{component.entry.factory}' is not callable", None)
        return factory

    # --- tools and keys ---

    def tools(self, hook: str) -> tuple[Offered, ...]:
        """All that packs list under a hook of the table, or under one of a stranger's; those of first-party packs first."""
        ordered = sorted(self.packs, key=lambda p: not p.first_party)
        return tuple(Offered(p, t) for p in ordered for t in p.tools.get(hook, ()) if isinstance(t, Tool))

    def tool(self, hook: str, name: str) -> Offered | None:
        """The tool called ``pack:name``, or by its bare name: that of a first-party pack, else the only one there is."""
        pack, colon, bare = name.rpartition(":")

        def named(p: Pack) -> list[Offered]:
            return [Offered(p, t) for t in p.tools.get(hook, ()) if isinstance(t, Tool) and t.name == bare]

        owner = self._read(pack) if colon else None
        found = (named(owner) if owner else []) if colon else self._called(_called(hook), bare, named)
        if len(found) > 1:
            raise PackError(
                f"the {_called(hook)} '{name}' is ambiguous. Write one of: {listing(o.key for o in found)}."
            )
        return found[0] if found else None

    def required(self, hook: str, name: str) -> Offered:
        """The same, or an error that says which pip command brings it, or what else there is."""
        if (found := self.tool(hook, name)) is not None:
            self._require_needs(found)
            return found
        known = [o.tool.name for o in self.tools(hook)]
        raise PackError(self.missing(hook, name) or f"there is no {_called(hook)} '{name}'.{did_you_mean(name, known)} "
                        f"Installed: {listing(known, 30)}{self.refused()}")  # fmt: skip

    def missing(self, hook: str, name: str) -> str | None:
        """For a tool of this project that is not installed: what brings it."""
        if (distribution := bringer(_called(hook), name)) is None:
            return None
        return f"the {_called(hook)} '{name}' comes with {self._installation(distribution)}"

    def own_tools(self, hook: str) -> list[Offered]:
        """Those of first-party packs only: what acts without being named must not depend on who else is installed."""
        return [Offered(p, t) for p in self._own for t in p.tools.get(hook, ()) if isinstance(t, Tool)]

    def target(self, offered: Offered) -> Any:
        """The object behind a tool; imports the module that holds it."""
        self._require_needs(offered)
        return self._import(offered.pack, offered.tool.target, f"'{offered.key}'")

    def _require_needs(self, offered: Offered) -> None:
        for module in offered.tool.needs:
            if not _is_there(module):
                extra = offered.tool.facts.get("extra")
                brings = f"'{offered.pack.distribution}[{extra}]'" if extra else module
                raise PackError(
                    f"'{offered.key}' of {offered.pack} needs {module}, which is not installed:   pip install {brings}"
                )

    def keys(self, at: str, *, strangers: bool = False) -> dict[str, OfferedKeys]:
        """Name → keys that may stand at a place: those of first-party packs, or of all."""
        packs = sorted(self.packs, key=lambda p: not p.first_party) if strangers else self._own
        found: dict[str, OfferedKeys] = {}
        for offered in (o for pack in packs for o in _keys(pack, at)):
            for word in offered.keys.names:
                found.setdefault(word, offered)
        return found

    def key(self, at: str, name: str) -> OfferedKeys | None:
        """The keys a word belongs to at a place: those of a first-party pack, else of the only one that has it."""
        found = self._called("keys", name, lambda p: [o for o in _keys(p, at) if name in o.keys.names])
        if len(found) > 1:
            keep = "   or   ".join(f"pip uninstall {o.pack.distribution}" for o in found)
            raise PackError(
                f"claimed by {' and by '.join(str(o.pack) for o in found)}; none of them is used. Keep one: {keep}"
            )
        return found[0] if found else None

    def model(self, offered: OfferedKeys) -> Any:
        """The model of keys."""
        keys, model = offered.keys, self._import(offered.pack, offered.keys.model, f"the key '{offered.keys.names[0]}'")
        fields = getattr(model, "model_fields", {})
        if not (set(keys.names) <= set(fields) and not any(f.is_required() for f in fields.values())):
            needed = f"'{keys.model}' must be a pydantic model with {listing(keys.names)}, nothing in it required"
            raise _unusable(offered.pack, f"the key '{keys.names[0]}'", needed, None)
        return model

    def function(self, offered: OfferedKeys, reference: str) -> Any:
        """A function of keys; imports the module that holds it."""
        what = f"the key '{offered.keys.names[0]}'"
        if not callable(function := self._import(offered.pack, reference, what)):
            raise _unusable(offered.pack, what, f"'{reference}' is not callable", None)
        return function

    # --- importing ---

    def _import(self, pack: Pack, reference: str, what: str) -> Any:
        """The object behind ``module:attribute``."""
        module, _, attribute = reference.partition(":")
        try:
            with nullcontext() if pack.first_party else contained():
                return reduce(getattr, attribute.split("."), importlib.import_module(module))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise _unusable(pack, what, one_line(error), error) from error

    # --- what is not there ---

    @property
    def versions(self) -> Mapping[str, str]:
        """Canonical distribution name → installed version, whether its packs are usable or refused."""
        refused = {canonical(f.distribution): f.version for f in self.failures}
        return refused | {canonical(p.distribution): p.version for p in self.packs}

    def _all_offers(self) -> Sequence[Offer]:
        """What the packs of catalogues know, else what core knows by itself."""
        found = [offer for o in self.own_tools("gleg_catalogues") for offer in self.target(o)()]
        return found or shipped_offers()

    def _unknown(self, contract: str, name: str) -> str:
        """Why ``name`` is not there, and what would bring it."""
        pack, _, bare = name.rpartition(":")
        keys = self.entries(contract)
        names = [c.entry.name for c in keys.values()]
        elsewhere = [key for key, c in keys.items() if c.entry.name == bare]
        close = f" Did you mean '{elsewhere[0]}'?" if elsewhere else did_you_mean(name, [*names, *keys])
        lines = [f"no installed pack provides the {contract} '{name}'.{close}"]
        lines += [f"  {line}" for line in self._offers(contract, name, guess=not close)]
        lines += [f"  '{key}' is a {other}." for other in CONTRACTS for key in self._same_name(other, name)]
        shown = names if len(set(names)) == len(names) else list(keys)
        return "\n".join(lines) + self.refused(pack) + f"\n  Installed: {listing(shown)}"

    def refused(self, pack: str = "") -> str:
        """Further lines for a name that nobody provides: the packs, or the one, that it may be in."""
        failed = [f for f in self.failures if pack in ("", f.pack)]
        lines = ["  It may be in a pack that could not be loaded:"] if failed else []
        lines += ["    " + str(failure).replace("\n", "\n    ") for failure in failed]
        return "".join(f"\n{line}" for line in lines)

    def _same_name(self, contract: str, name: str) -> list[str]:
        """Keys of ``contract`` that ``name`` would mean there."""
        return [key for key, c in self.entries(contract).items() if name in (key, c.entry.name)]

    def _offers(self, contract: str, name: str, guess: bool) -> list[str]:
        """What the catalogue knows of ``name``: who provides it; else its pack; else, if ``guess``, what it may be meant for."""
        try:
            known, trouble = self.catalogue(), []
        except GlegError as error:
            known, trouble = shipped_offers(), [str(error)]
        known = [o for o in known if o.contract == contract]
        pack = name.partition(":")[0] if ":" in name else None
        lines = [f"It is in {self._installation(o.distribution)}" for o in known if name in (o.key, o.name)]
        siblings = [o for o in known if o.pack == pack and pack not in self._packs]
        if not lines and siblings:
            names = [o.name for o in siblings]
            hint = did_you_mean(name.partition(":")[2], names) or f" It offers {listing(names)}."
            lines = [f"'{pack}' has no such {contract}.{hint} It is in {self._installation(siblings[0].distribution)}"]
        elif not lines and guess:
            close = nearest(name, [word for o in known for word in (o.key, o.name)])
            near = [o for o in known if close in (o.key, o.name)]
            lines = [f"Perhaps '{o.key}', in {self._installation(o.distribution)}" for o in near]
        return [*dict.fromkeys(lines), *trouble]

    def _installation(self, distribution: str) -> str:
        """A distribution, and the command that brings it."""
        version = self.versions.get(canonical(distribution))
        if version is None:
            return f"{distribution}:   pip install {distribution}"
        return f"{distribution}, of which {version} is installed:   pip install --upgrade {distribution}"


@cache
def default_registry() -> Registry:
    """The registry of this environment, discovered once per process."""
    return Registry.discover()


def _require(contract: str) -> None:
    if contract not in CONTRACTS:
        hint = did_you_mean(contract, CONTRACTS)
        raise PackError(f"there is no contract '{contract}'.{hint} Contracts: {listing(CONTRACTS)}.")


def _components(pack: Pack, contract: str) -> Iterator[Component]:
    for entry in pack.entries.get(contract, ()):
        yield Component(f"{pack.id}:{entry.name}", pack, contract, entry)


def _keys(pack: Pack, at: str) -> Iterator[OfferedKeys]:
    for keys in pack.tools.get("gleg_keys", ()):
        if isinstance(keys, Keys) and keys.at == at:
            yield OfferedKeys(pack, keys)


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _called(hook: str) -> str:
    """What a hook lists, in words."""
    return HOOKS[hook].name if hook in HOOKS else hook


def _allowed(text: str) -> frozenset[str] | None:
    """Comma-separated ids → set; None, meaning every pack, if there are none."""
    return frozenset(word.strip() for word in text.split(",") if word.strip()) or None


def _is_on(text: str) -> bool:
    return text.strip().lower() in ("1", "true", "yes", "on")


def _unusable(pack: Pack, what: str, message: str, error: BaseException | None) -> PackError:
    remedy = import_remedy(error, pack.distribution) if error else f"pip install --upgrade {pack.distribution}"
    return PackError(
        f"{what} cannot be used. {Failure(pack.id, pack.distribution, pack.version, 'import', message, remedy)}"
    )
