"""Turning a claim into a pack: import the light module, shake hands on the contract version, call the hooks.

Everything a pack can do wrong here ends as a :class:`Failure` of that pack, and only of that pack.
"""

from __future__ import annotations

import importlib
import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from types import FunctionType, MappingProxyType, ModuleType

import pluggy
from pluggy import HookImpl

from gleg_core import hookspecs
from gleg_core.errors import did_you_mean
from gleg_core.pack import CONTRACT, CONTRACT_HOOKS, Entry, hookimpl
from gleg_core.registry.installed import IDENTIFIER, Claim
from gleg_core.registry.records import Failure, Pack, Refusal, Stage, import_remedy, one_line

REFERENCE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_CONTRACT_OF = {hook: contract for contract, hook in CONTRACT_HOOKS.items()}
_PLAIN = (str, int, float, bool, type(None))


def load(claim: Claim) -> Pack | Failure:
    """The pack, whole, or the failure that refuses it. Only KeyboardInterrupt gets through."""
    stage: Stage = "import"
    try:
        module = importlib.import_module(claim.module)
        stage = "handshake"
        contract = _shake_hands(module, claim)
        stage = "hooks"
        entries = _entries(module, claim)
    except KeyboardInterrupt:
        raise
    except Refusal as refusal:
        return _failure(claim, refusal.stage, refusal.message, refusal.remedy)
    except BaseException as error:  # SystemExit and the like included: a pack must not end the program
        remedy = import_remedy(error, claim.distribution) if stage == "import" else _author(claim)
        return _failure(claim, stage, one_line(error), remedy)
    origin = (claim.pack, claim.distribution, claim.version, claim.module)
    return Pack(*origin, contract, claim.licence, MappingProxyType(entries), claim.provider)


def _failure(claim: Claim, stage: Stage, message: str, remedy: str) -> Failure:
    return Failure(claim.pack, claim.distribution, claim.version, stage, message, remedy)


def _author(claim: Claim) -> str:
    return f"pip install --upgrade {claim.distribution}, or tell its author"


def _shake_hands(module: ModuleType, claim: Claim) -> tuple[int, int]:
    """The contract version of the pack, if this core serves it: the same major, no newer minor."""
    stated = getattr(module, "CONTRACT", None)
    if stated is None:
        raise Refusal("handshake", f"{claim.module} has no CONTRACT = (major, minor)", _author(claim))
    if not (isinstance(stated, tuple) and len(stated) == 2 and all(type(n) is int for n in stated)):
        raise Refusal("handshake", f"CONTRACT must be two integers (major, minor), not {stated!r}", _author(claim))
    major, minor = stated
    needs = f"it is written for contract {major}.{minor}, this gleg-core serves {CONTRACT[0]}.{CONTRACT[1]}"
    older = f"pip install '{claim.distribution}<{claim.version}'"
    if (major, minor) > CONTRACT:
        raise Refusal("handshake", needs, f"pip install --upgrade gleg-core   (or an older pack: {older})")
    if major < CONTRACT[0]:
        raise Refusal("handshake", needs, f"pip install --upgrade {claim.distribution}   (a pack for {CONTRACT[0]}.x)")
    return major, minor


def _entries(module: ModuleType, claim: Claim) -> dict[str, tuple[Entry, ...]]:
    """Contract → entries, from every hook the module implements; one wrong entry refuses them all."""
    found: dict[str, tuple[Entry, ...]] = {}
    for hook, implementation in _implementations(module, claim):
        contract = _CONTRACT_OF[hook]
        found[contract] = found.get(contract, ()) + _checked(hook, implementation.function(), claim)
        counts = Counter(entry.name for entry in found[contract])
        if repeated := [name for name, count in counts.items() if count > 1]:
            raise Refusal("hooks", f"{hook} lists the name '{repeated[0]}' twice", _author(claim))
    return found


@cache
def _manager() -> pluggy.PluginManager:
    """One for all packs, each registered only while it is read: a new one per pack would take a fifth of discovery."""
    manager = pluggy.PluginManager("gleg")
    manager.add_hookspecs(hookspecs)
    return manager


def _implementations(module: ModuleType, claim: Claim) -> list[tuple[str, HookImpl]]:
    """The module's hooks as pluggy sees them, validated against the hookspecs."""
    manager = _manager()
    try:
        manager.register(module)
        callers = manager.get_hookcallers(module) or []
        found = [(c.name, h) for c in callers for h in c.get_hookimpls() if h.plugin is module]
    except pluggy.PluginValidationError as error:
        raise Refusal("hooks", one_line(error), _author(claim)) from error
    finally:
        if manager.is_registered(module):
            manager.unregister(module)
    unmarked = _unmarked(module)
    for name in [*unmarked, *(name for name, _ in found)]:
        if name not in _CONTRACT_OF:
            raise Refusal("hooks", f"unknown hook '{name}'.{did_you_mean(name, _CONTRACT_OF)}", _author(claim))
    if unmarked:
        raise Refusal("hooks", f"{unmarked[0]} is not marked with @hookimpl", _author(claim))
    for name, implementation in found:
        if implementation.wrapper or implementation.hookwrapper:
            raise Refusal("hooks", f"{name} must not be a wrapper", _author(claim))
    return found


def _unmarked(module: ModuleType) -> list[str]:
    """Functions of the module that are named like hooks but that pluggy does not see."""
    return [
        name
        for name, value in vars(module).items()
        if name.startswith("gleg_")
        and isinstance(value, FunctionType)
        and value.__module__ == module.__name__
        and not hasattr(value, f"{hookimpl.project_name}_impl")
    ]


def _checked(hook: str, returned: object, claim: Claim) -> tuple[Entry, ...]:
    if not isinstance(returned, list | tuple):
        message = f"{hook} must return a list of Entry, not {type(returned).__name__}"
        raise Refusal("hooks", message, _author(claim))
    for position, entry in enumerate(returned):
        if complaint := _complaint(entry):
            raise Refusal("hooks", f"{hook}()[{position}]: {complaint}", _author(claim))
    return tuple(returned)


def _complaint(entry: object) -> str | None:
    """What is wrong with the form of an entry, or None."""
    if not isinstance(entry, Entry):
        return f"must be an Entry, not {type(entry).__name__}"
    texts = (entry.name, entry.summary, entry.params, entry.factory)
    if not all(isinstance(text, str) for text in texts):
        return "name, summary, params and factory must be strings"
    if not IDENTIFIER.fullmatch(entry.name):
        return f"the name '{entry.name}' must match [a-z][a-z0-9-]*"
    if not entry.summary.strip() or "\n" in entry.summary:
        return f"the summary of '{entry.name}' must be one line"
    for role, reference in (("params", entry.params), ("factory", entry.factory)):
        if not REFERENCE.fullmatch(reference):
            return f"{role} of '{entry.name}' must have the form 'module:attribute', not '{reference}'"
    if not (isinstance(entry.capabilities, Mapping) and _is_plain(entry.capabilities)):
        return f"capabilities of '{entry.name}' must be a mapping of plain values (text, numbers, lists, mappings)"
    if not isinstance(entry.examples, list | tuple) or not all(isinstance(e, Mapping) for e in entry.examples):
        return f"examples of '{entry.name}' must be a tuple of parameter mappings"
    return None


def _is_plain(value: object) -> bool:
    """True for JSON-like data, so that listings can be printed in any format."""
    if isinstance(value, Mapping):
        return all(isinstance(k, str) and _is_plain(v) for k, v in value.items())
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return isinstance(value, _PLAIN)
