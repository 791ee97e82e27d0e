"""What is said about a name that no installed pack provides: what was perhaps meant, and what would bring it."""

import importlib.util
import os
from typing import TYPE_CHECKING

import importlib_metadata

from gleg_core.errors import GlegError, PackError, did_you_mean, listing, nearest
from gleg_core.pack import CONTRACTS, HOOKS
from gleg_core.registry.catalogue import canonical, first_party, shipped_offers
from gleg_core.registry.records import Offered

if TYPE_CHECKING:
    from gleg_core.registry.lookup import Registry


def words(hook: str) -> str:
    """What a hook lists, in words."""
    return HOOKS[hook].name if hook in HOOKS else hook


def component(registry: "Registry", contract: str, name: str) -> str:
    """Why the component ``name`` is not there."""
    pack, _, bare = name.rpartition(":")
    keys = registry.entries(contract)
    names = [c.entry.name for c in keys.values()]
    elsewhere = [key for key, c in keys.items() if c.entry.name == bare]
    close = f" Did you mean '{elsewhere[0]}'?" if elsewhere else did_you_mean(name, [*names, *keys])
    lines = [f"no installed pack provides the {contract} '{name}'.{close}"]
    lines += [f"  {line}" for line in _offers(registry, contract, name, guess=not close)]
    for other in CONTRACTS:
        same = [key for key, c in registry.entries(other).items() if name in (key, c.entry.name)]
        lines += [f"  '{key}' is a {other}." for key in same]
    shown = names if len(set(names)) == len(names) else list(keys)
    return "\n".join(lines) + refused(registry, pack) + f"\n  Installed: {listing(shown)}"


def tool(registry: "Registry", hook: str, name: str) -> str:
    """Why the tool ``name``, which is none of this project's, is not there."""
    known = [o.tool.name for o in registry.tools(hook)]
    hint = did_you_mean(name, known)
    return f"there is no {words(hook)} '{name}'.{hint} Installed: {listing(known, 30)}{refused(registry)}"


def refused(registry: "Registry", pack: str = "") -> str:
    """Further lines: the packs, or the one, that a name may be in."""
    failed = [f for f in registry.failures if pack in ("", f.pack)]
    lines = ["  It may be in a pack that could not be loaded:"] if failed else []
    lines += ["    " + str(failure).replace("\n", "\n    ") for failure in failed]
    return "".join(f"\n{line}" for line in lines)


def installation(registry: "Registry", distribution: str) -> str:
    """A distribution, and the command that brings it."""
    version = registry.versions.get(canonical(distribution))
    limited = version is None and bool(os.environ.get("GLEG_PACKS", "").strip(" ,"))
    if limited and any(importlib_metadata.distributions(name=distribution)):
        ids = listing(first_party().get(distribution, ("its pack",)))
        return f"{distribution}, which is installed, but the allow-list GLEG_PACKS leaves it out:   add {ids}"
    if version is None:
        return f"{distribution}:   pip install {distribution}"
    return f"{distribution}, of which {version} is installed:   pip install --upgrade {distribution}"


def _offers(registry: "Registry", contract: str, name: str, guess: bool) -> list[str]:
    """What the catalogue knows of ``name``: who provides it; else its pack; else, if ``guess``, what it may be meant for."""
    try:
        known, trouble = registry.catalogue(), []
    except GlegError as error:
        known, trouble = shipped_offers(), [str(error)]
    known = [o for o in known if o.contract == contract]
    pack = name.partition(":")[0] if ":" in name else None
    lines = [f"It is in {installation(registry, o.distribution)}" for o in known if name in (o.key, o.name)]
    siblings = [o for o in known if o.pack == pack and pack not in {p.id for p in registry.packs}]
    if not lines and siblings:
        names, brings = [o.name for o in siblings], installation(registry, siblings[0].distribution)
        hint = did_you_mean(name.partition(":")[2], names) or f" It offers {listing(names)}."
        lines = [f"'{pack}' has no such {contract}.{hint} It is in {brings}"]
    elif not lines and guess:
        close = nearest(name, [word for o in known for word in (o.key, o.name)])
        near = [o for o in known if close in (o.key, o.name)]
        lines = [f"Perhaps '{o.key}', in {installation(registry, o.distribution)}" for o in near]
    return [*dict.fromkeys(lines), *trouble]


def require_needs(offered: Offered) -> None:
    """Refuse a tool that needs a module which is not installed."""
    for module in offered.tool.needs:
        try:
            there = importlib.util.find_spec(module) is not None
        except (ImportError, ValueError):
            there = False
        if not there:
            extra = offered.tool.facts.get("extra")
            brings = f"'{offered.pack.distribution}[{extra}]'" if extra else module
            needs = f"'{offered.key}' of {offered.pack} needs {module}"
            raise PackError(f"{needs}, which is not installed:   pip install {brings}")
