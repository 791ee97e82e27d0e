"""Checks that every component of every contract must pass: its entry, its parameters, its construction."""

import inspect
import json
import random
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import torch
from pydantic import BaseModel, ValidationError
from torch import Tensor

from gleg_conformance.kit import Finding, Subject, check, require
from gleg_conformance.local_settings import usual_site
from gleg_core.contracts.block import Binding
from gleg_core.pack import Entry
from gleg_core.registry import Pack
from gleg_core.registry.records import one_line
from gleg_core.spec.blame import check_contract

_FIELDS = ("u", "v")


def _params(subject: Subject, **changes: Any) -> BaseModel:
    """The example, with some keys changed, validated as in a problem."""
    return replace(subject, example={**subject.example, **changes}).params(dim=_dim(subject))


def _dim(subject: Subject) -> int:
    """The first dimension the component serves in which the example is valid: a velocity has as many entries as there are."""
    for dim in subject.dims:
        with suppress(ValidationError):
            subject.params(dim=dim)
            return dim
    return subject.dims[0]


def _made(subject: Subject) -> Any:
    """What the factory gives, called as the contract says."""
    dim = _dim(subject)
    arguments: dict[str, Callable[[], tuple[Any, ...]]] = {
        "basis": lambda: (usual_site(subject, dim),),
        "block": lambda: (Binding("u", _FIELDS, dim),),
    }
    return subject.make(*arguments.get(subject.component.contract, tuple)(), dim=dim)


# --- the entry --------------------------------------------------------------------------------------------------------


@check(group="entry")
def summary_is_short(subject: Subject) -> Finding:
    """The summary is one line of at most 100 characters, so that listings stay readable."""
    summary = subject.component.entry.summary
    require(bool(summary.strip()) and summary.isprintable(), f"the summary must be one line of text, found {summary!r}")
    return Finding(len(summary), 100, "characters in the summary")


@check(group="entry")
def entry_module_is_light(subject: Subject) -> None:
    """The entry module of the pack imports neither torch nor numpy, scipy or pydantic."""
    heavy = _imported(subject)["entry"]
    require(
        not heavy,
        f"{subject.component.pack.module} imports {', '.join(heavy)}: import it in the modules that params and factory name",
    )


# --- parameters -------------------------------------------------------------------------------------------------------


@check(group="parameters")
def example_is_valid(subject: Subject) -> None:
    """The example is accepted by the parameter model."""
    model = subject.registry.params(subject.component)
    require(issubclass(model, BaseModel), f"params must name a pydantic model (PackParams), not {model.__name__}")
    try:
        _params(subject)
    except ValidationError as error:
        told = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        if not subject.component.entry.examples:
            told += ". The entry has no example: give it one with the keys it needs"
        require(False, f"the example {dict(subject.example)} is not valid: {told}")


@check(group="parameters")
def unknown_keys_are_refused(subject: Subject) -> None:
    """A key the model does not know is an error: a typing mistake in a problem file must not pass."""
    _params(subject)
    try:
        _params(subject, no_such_key=1)
    except ValidationError:
        return
    require(False, "the key 'no_such_key' is accepted: derive the model from PackParams")


@check(group="parameters")
def parameters_are_frozen(subject: Subject) -> None:
    """Validated parameters cannot be changed."""
    params = _params(subject)
    require(params.model_config.get("frozen"), "the model is not frozen: derive it from PackParams")
    for name in type(params).model_fields:
        try:
            setattr(params, name, getattr(params, name))
        except (ValidationError, AttributeError, TypeError):
            continue
        require(False, f"the parameter '{name}' can be changed after validation")


@check(group="parameters")
def defaults_are_valid(subject: Subject) -> None:
    """A default written out in a problem file is accepted and means the same as leaving the key out."""
    params = _params(subject)
    for name, field in type(params).model_fields.items():
        if field.is_required() or name in subject.example:
            continue
        default = field.get_default(call_default_factory=True, validated_data=dict(params))
        try:
            written = _params(subject, **{field.alias or name: default})
        except ValidationError as error:
            require(False, f"the default {default!r} of '{name}' is not valid: {one_line(error)}")
        require(
            written == params,
            f"the default {default!r} of '{name}' is not validated: add validate_default=True to its Field",
        )


@check(group="parameters")
def parameters_survive_a_resolved_file(subject: Subject) -> None:
    """Parameters written to spec.resolved.yaml and read again are the same parameters."""
    params = _params(subject)
    text = json.dumps(params.model_dump(mode="json"), allow_nan=False)
    try:
        again = replace(subject, example=json.loads(text)).params(dim=_dim(subject))
    except ValidationError as error:
        require(False, f"what is written, {text}, is not valid when read: {one_line(error)}")
    require(again == params, f"{params!r} was written as {text} and read as {again!r}")


@check(group="parameters")
def keys_say_what_they_are(subject: Subject) -> None:
    """Every key has a description, and editors get a JSON schema of them."""
    model = subject.registry.params(subject.component)
    json.dumps(model.model_json_schema())
    silent = [name for name, field in model.model_fields.items() if not (field.description or "").strip()]
    require(
        not silent,
        f'no description of {", ".join(silent)}: Field(description=…), or Annotated[Number, "…"] in a declared mechanism',
    )


@check(group="parameters")
def parameters_need_no_torch(subject: Subject) -> None:
    """A problem file is validated without importing torch."""
    failed, heavy = _imported(subject)["params"][f"{subject.component.contract} {subject.component.entry.name}"]
    require(not failed, f"in a fresh interpreter: {failed}")
    require(not heavy, f"{subject.component.entry.params} imports {', '.join(heavy)} when an example is validated")


# --- construction -----------------------------------------------------------------------------------------------------


@check(group="construction")
def factory_keeps_the_contract(subject: Subject) -> None:
    """The factory returns an instance of the contract's class."""
    check_contract(_made(subject), subject.component)


@check(group="construction")
def construction_is_deterministic(subject: Subject) -> None:
    """Two components made from the same parameters are the same, to the last bit."""
    first, second = _made(subject), _made(subject)
    difference = _difference(first, second, type(first).__name__, set())
    require(difference is None, f"{difference} differs between two components with the same parameters")


@check(group="construction")
def construction_draws_no_random_numbers(subject: Subject) -> None:
    """Making a component leaves the random number generators of torch, numpy and Python alone."""
    before = generator_states()
    _made(subject)
    changed = [name for name, state in generator_states().items() if state != before[name]]
    require(
        not changed, f"making it draws from the global generator of {', '.join(changed)}: use a generator of its own"
    )


def generator_states() -> dict[str, str]:
    """States of the global random number generators, to be compared with earlier ones."""
    arrays = {"torch": torch.get_rng_state().numpy(), "numpy": np.random.get_state(legacy=False)}
    states = {**arrays, "Python": random.getstate()}
    return {name: json.dumps(state, default=lambda array: array.tolist()) for name, state in states.items()}


def _difference(a: Any, b: Any, where: str, seen: set[int]) -> str | None:
    """The first place where two objects hold different data; code and foreign objects are compared by their type."""
    if type(a) is not type(b):
        return where
    if isinstance(a, (int, float, str, bytes)):
        return None if a == b or a != a else where
    if id(a) in seen or inspect.isroutine(a) or isinstance(a, type):
        return None
    seen.add(id(a))
    if isinstance(a, Tensor):
        return None if a.shape == b.shape and torch.equal(a.detach(), b.detach()) else where
    if isinstance(a, np.ndarray):
        return None if np.array_equal(a, b, equal_nan=a.dtype.kind == "f") else where
    if isinstance(a, (list, tuple)):
        pairs = {str(i): pair for i, pair in enumerate(zip(a, b, strict=False))}
        return where if len(a) != len(b) else _first(pairs, where, seen)
    held_a, held_b = (a, b) if isinstance(a, Mapping) else (getattr(a, "__dict__", {}), getattr(b, "__dict__", {}))
    if list(map(str, held_a)) != list(map(str, held_b)):
        return where
    return _first({str(k): (held_a[k], held_b.get(k)) for k in held_a}, where, seen)


def _first(pairs: Mapping[str, tuple[Any, Any]], where: str, seen: set[int]) -> str | None:
    found = (_difference(a, b, f"{where}.{name}", seen) for name, (a, b) in pairs.items())
    return next((place for place in found if place is not None), None)


# --- what is imported -------------------------------------------------------------------------------------------------

_PROBE = """
import functools, importlib, json, sys
task = json.loads(sys.stdin.read())
sys.path[:] = task["path"]
loaded = lambda names: [n for n in names if n in sys.modules]
importlib.import_module("gleg_core.pack")
before = set(loaded(task["heavy"]))
importlib.import_module(task["module"])
entry = [n for n in loaded(task["heavy"]) if n not in before]
from gleg_core.spec.params import Scope
found = {}
for key, reference, subjects in task["components"]:
    already, failed = "torch" in sys.modules, ""
    try:
        module, _, name = reference.partition(":")
        model = functools.reduce(getattr, name.split("."), importlib.import_module(module))
        for example, dim in subjects:
            model.model_validate(example, context=Scope(dim=dim, fields=tuple(task["fields"]), folder=task["folder"]))
    except Exception as error:
        failed = " ".join(f"{type(error).__name__}: {error}".split())
    found[key] = [failed, [] if already else loaded(["torch"])]
print("\\n" + json.dumps({"entry": entry, "params": found}))
"""


def _imported(subject: Subject) -> dict[str, Any]:
    """What the pack of a component imports, tried once in a fresh interpreter: by its entry module, by validating examples."""
    pack: Pack = subject.component.pack

    def examples(contract: str, entry: Entry) -> list[tuple[dict[str, object], int]]:
        component = subject.registry.find(contract, f"{pack.id}:{entry.name}")
        return [(dict(e), _dim(Subject(component, subject.registry, e))) for e in entry.examples]

    listed = [(contract, entry) for contract, entries in pack.entries.items() for entry in entries]
    task = {
        "path": sys.path,
        "heavy": ["torch", "numpy", "scipy", "pydantic"],
        "module": pack.module,
        "folder": subject.folder,
        "fields": _FIELDS,
        "components": [(f"{c} {e.name}", e.params, examples(c, e)) for c, e in listed],
    }
    return _probe(json.dumps(task, default=str))


@cache
def _probe(task: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, "-c", _PROBE], input=task, capture_output=True, text=True, timeout=120)
    require(done.returncode == 0, f"the pack cannot be imported in a fresh interpreter: {done.stderr.strip()[-300:]}")
    return json.loads(done.stdout.splitlines()[-1])
