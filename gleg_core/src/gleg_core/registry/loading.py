"""Turning a claim into a pack: import the light module, shake hands on the contract version, call the hooks.

Everything a pack can do wrong here ends as a :class:`Failure` of that pack, and only of that pack.
"""

import importlib
import re
from collections import Counter
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from io import StringIO
from types import FunctionType, MappingProxyType, ModuleType
from typing import Any

import pluggy
from pluggy import HookImpl

from gleg_core.capabilities import Capabilities, capabilities
from gleg_core.errors import did_you_mean, listing
from gleg_core.pack import CONTRACT, HOOKS, OWN_KEYS, Contract, Entry, Keys, Tool, hookimpl
from gleg_core.registry.containment import contained
from gleg_core.registry.installed import IDENTIFIER, Claim
from gleg_core.registry.records import Failure, Pack, Stage, import_remedy, one_line, printable

REFERENCE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
"""Of tools: a name of the module gleg may be that of a class."""
_OF_KEYS = ("read", "check", "initial", "fills", "schema")
"""Functions of keys."""
_PLAIN = (str, int, float, bool, type(None))
Offers = dict[str, tuple[Any, ...]]


class Refusal(Exception):
    """Why a pack is refused, turned into its :class:`Failure`; where no ``remedy`` is given, its author is to be told."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy


def load(claim: Claim) -> Pack | Failure:
    """The pack, whole, or the failure that refuses it. Only the user's own KeyboardInterrupt gets through."""
    stage: Stage = "import"
    author = f"pip install --upgrade {claim.distribution}, or tell its author"
    try:
        with nullcontext(StringIO()) if claim.first_party else contained() as said:
            module = importlib.import_module(claim.module)
            stage = "handshake"
            contract = _shake_hands(module, claim)
            stage = "hooks"
            entries, tools = _offers(module)
    except KeyboardInterrupt:
        raise
    except Refusal as refusal:
        return claim.refused(stage, str(refusal), refusal.remedy or author)
    except BaseException as error:  # SystemExit and the like included: a pack must not end the program
        remedy = import_remedy(error, claim.distribution) if stage == "import" else author
        return claim.refused(stage, one_line(error), remedy)
    return Pack(
        claim.pack, claim.distribution, claim.version, claim.module, contract, claim.licence,
        MappingProxyType(entries), claim.provider, MappingProxyType(tools), claim.first_party, printable(said.getvalue()),
    )  # fmt: skip


def _shake_hands(module: ModuleType, claim: Claim) -> tuple[int, int]:
    """The contract version of the pack, if this core serves it: the same major, no newer minor."""
    stated = getattr(module, "CONTRACT", None)
    if stated is None:
        raise Refusal(f"{claim.module} has no CONTRACT = (major, minor)")
    if not (isinstance(stated, tuple) and len(stated) == 2 and all(type(n) is int for n in stated)):
        raise Refusal(f"CONTRACT must be two integers (major, minor), not {stated!r}")
    major, minor = stated
    needs = f"it is written for contract {major}.{minor}, this gleg-core serves {CONTRACT[0]}.{CONTRACT[1]}"
    older = f"pip install '{claim.distribution}<{claim.version}'"
    if (major, minor) > CONTRACT:
        raise Refusal(needs, f"pip install --upgrade gleg-core   (or an older pack: {older})")
    if major < CONTRACT[0]:
        raise Refusal(needs, f"pip install --upgrade {claim.distribution}   (a pack for {CONTRACT[0]}.x)")
    return major, minor


def _offers(module: ModuleType) -> tuple[Offers, Offers]:
    """Contract → entries, and hook → tools, from every hook the module implements; one wrong record refuses them all."""
    entries: Offers = {}
    tools: Offers = {}
    for hook, implementation in _implementations(module):
        row = HOOKS.get(hook, Contract(hook, hook, "a hook of another pack"))
        into, name = (entries, row.name) if row.record is Entry else (tools, hook)
        into[name] = into.get(name, ()) + _checked(row, implementation.function())
        names = [n for record in into[name] for n in (record.names if isinstance(record, Keys) else (record.name,))]
        counts = Counter(names if row.record is not Keys else [(r.at, n) for r in into[name] for n in r.names])
        if repeated := [name for name, count in counts.items() if count > 1]:
            raise Refusal(f"{hook} lists the name '{repeated[0]}' twice")
    return entries, tools


@cache
def _manager() -> pluggy.PluginManager:
    """One for all packs, each registered only while it is read: a new one per pack would take a fifth of discovery."""
    manager = pluggy.PluginManager("gleg")
    # every hook is a function without arguments that lists records
    specification: Any = pluggy.HookspecMarker("gleg")(lambda: [])
    manager.add_hookspecs(type("Hooks", (), dict.fromkeys(HOOKS, staticmethod(specification))))
    return manager


def _implementations(module: ModuleType) -> list[tuple[str, HookImpl]]:
    """The module's hooks as pluggy sees them. A hook that no row of the table has belongs to another pack, unless it looks misspelt."""
    manager = _manager()
    try:
        manager.register(module)
        callers = manager.get_hookcallers(module) or []
        found = [(c.name, h) for c in callers for h in c.get_hookimpls() if h.plugin is module]
    except pluggy.PluginValidationError as error:
        raise Refusal(one_line(error)) from error
    finally:
        if manager.is_registered(module):
            manager.unregister(module)
    unmarked = _unmarked(module)
    for name in [*unmarked, *(name for name, _ in found)]:
        if name not in HOOKS and (name in unmarked or _misspelt(name)):
            raise Refusal(f"unknown hook '{name}'.{did_you_mean(name, HOOKS)}")
    if unmarked:
        raise Refusal(f"{unmarked[0]} is not marked with @hookimpl")
    for name, implementation in found:
        if implementation.wrapper or implementation.hookwrapper:
            raise Refusal(f"{name} must not be a wrapper")
    return found


def _misspelt(hook: str) -> bool:
    """Whether a hook is meant for one of the table: all of them begin alike, so only the rest counts."""
    from difflib import get_close_matches  # not needed while all goes well

    words = [known.removeprefix("gleg_") for known in HOOKS]
    return bool(get_close_matches(hook.removeprefix("gleg_"), words, n=1, cutoff=0.8))


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


def _checked(row: Contract, returned: object) -> tuple[Any, ...]:
    """The records of a hook, capabilities as typed records."""
    if not isinstance(returned, list | tuple):
        message = f"{row.hook} must return a list of {row.record.__name__}, not {type(returned).__name__}"
        raise Refusal(message)
    records = []
    for position, record in enumerate(returned):
        try:
            records.append(_CHECKS[row.record](record, row))
        except ValueError as complaint:
            raise Refusal(f"{row.hook}()[{position}]: {complaint}") from None
    return tuple(records)


def _record(record: object, row: Contract, texts: tuple[str, ...]) -> None:
    """The form that all records have in common."""
    if not isinstance(record, row.record):
        raise ValueError(
            f"must be {'an' if row.record is Entry else 'a'} {row.record.__name__}, not {type(record).__name__}"
        )
    if not all(isinstance(getattr(record, text), str) for text in texts):
        raise ValueError(f"{', '.join(texts[:-1])} and {texts[-1]} must be strings")


def _reference(role: str, name: str, reference: str) -> None:
    if not REFERENCE.fullmatch(reference):
        raise ValueError(f"{role} of '{name}' must have the form 'module:attribute', not '{reference}'")


def _named(record: Any, row: Contract, name: re.Pattern[str], *references: str) -> None:
    """The form of those with a name and a summary."""
    _record(record, row, ("name", "summary", *references))
    if not name.fullmatch(record.name):
        raise ValueError(f"the name '{record.name}' must match {name.pattern}")
    if not record.summary.strip() or re.search(r"[\x00-\x1f\x7f-\x9f]", record.summary):
        raise ValueError(f"the summary of '{record.name}' must be one line without control characters")
    for role in references:
        _reference(role, record.name, getattr(record, role))


def _entry(record: Any, row: Contract) -> Entry:
    _named(record, row, IDENTIFIER, "params", "factory")
    if not isinstance(record.examples, list | tuple) or not all(isinstance(e, Mapping) for e in record.examples):
        raise ValueError(f"examples of '{record.name}' must be a tuple of parameter mappings")
    try:
        stated = vars(record.capabilities) if isinstance(record.capabilities, Capabilities) else record.capabilities
        return replace(record, capabilities=capabilities(row.capabilities, stated))
    except ValueError as error:
        raise ValueError(f"capabilities of '{record.name}': {error}") from None


def _tool(record: Any, row: Contract) -> Tool:
    _named(record, row, _NAME, "target")
    if not _are_words(record.needs):
        raise ValueError(f"needs of '{record.name}' must be a tuple of names of modules")
    if not (isinstance(record.facts, Mapping) and _is_plain(record.facts)):
        raise ValueError(f"facts of '{record.name}' must be a mapping of plain values (text, numbers, lists, mappings)")
    for fact, allowed in row.facts.items():
        stated = record.facts.get(fact) or ()
        for value in stated if isinstance(stated, list | tuple) else (stated,):
            if value not in allowed:
                hint = did_you_mean(str(value), allowed)
                raise ValueError(f"'{fact}' of '{record.name}' is {value!r}, allowed: {listing(allowed)}.{hint}")
    return record


def _keys(record: Any, row: Contract) -> Keys:
    _record(record, row, ("at", "model", *_OF_KEYS, "unsolved"))
    if record.at not in OWN_KEYS:
        raise ValueError(f"at is '{record.at}', keys stand at one of {', '.join(OWN_KEYS)}")
    if not (record.names and _are_words(record.names) and all(n.isidentifier() for n in record.names)):
        raise ValueError(f"names must be a tuple of words such as 'plan', found {record.names!r}")
    if taken := [name for name in record.names if name in OWN_KEYS[record.at]]:
        raise ValueError(f"'{taken[0]}' is a key of core")
    if not (_are_words(record.replaces) and set(record.replaces) <= {"equation", "initial"}):
        raise ValueError(f"replaces must be a tuple of 'equation', 'initial' or both, found {record.replaces!r}")
    if "initial" in record.replaces and not (record.initial or record.unsolved):
        raise ValueError("where 'initial' is replaced, initial must name the function that gives the state")
    try:
        record.unsolved.format(field="", file="")
    except (LookupError, ValueError):
        raise ValueError(f"unsolved may have {{field}} and {{file}} in it, found '{record.unsolved}'") from None
    _reference("model", record.names[0], record.model)
    for role in _OF_KEYS:
        if reference := getattr(record, role):
            _reference(role, record.names[0], reference)
    return record


_CHECKS: dict[type, Any] = {Entry: _entry, Tool: _tool, Keys: _keys}


def _are_words(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(word, str) for word in value)


def _is_plain(value: object) -> bool:
    """True for JSON-like data, so that listings can be printed in any format."""
    if isinstance(value, Mapping):
        return all(isinstance(k, str) and _is_plain(v) for k, v in value.items())
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return isinstance(value, _PLAIN)
