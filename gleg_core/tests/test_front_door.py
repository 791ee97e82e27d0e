"""``import gleg``: names from core and from packs, lazily; what is missing says what brings it."""

from __future__ import annotations

import subprocess
import sys

import pytest

import gleg
from gleg_core.pack import CONTRACT, Tool
from gleg_core.registry import Pack, Registry


def pack(*tools: Tool, hook: str = "gleg_names", first_party: bool = False) -> Pack:
    return Pack("acme", "acme-tools", "1.0", "acme.pack", CONTRACT, "MIT", tools={hook: tools}, first_party=first_party)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch):
    """A way to say what is installed."""
    before = dict(vars(gleg))
    for name in set(dir(gleg)) & set(before) - {"__version__"}:  # what was used before is kept in the module
        monkeypatch.delattr(gleg, name)

    def choose(*packs: Pack) -> None:
        registry = Registry(packs)
        monkeypatch.setattr("gleg_core.registry.default_registry", lambda: registry)

    yield choose
    for name in set(vars(gleg)) - set(before):
        delattr(gleg, name)


def test_importing_it_imports_nothing_heavy() -> None:
    program = "import sys, gleg; print([m for m in ('torch', 'numpy', 'pydantic', 'scipy') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_names_of_core_are_there_without_any_pack(installed) -> None:
    installed()
    from gleg_core.solver import solve
    from gleg_core.spec.problem import load_problem

    assert gleg.solve is solve and gleg.load is load_problem
    assert {"solve", "load", "Run", "GlegError"} <= set(dir(gleg))


def test_a_stranger_adds_a_name(installed) -> None:
    installed(pack(Tool("half", "Half of it", "fractions:Fraction")))
    from fractions import Fraction

    assert gleg.half is Fraction and "half" in dir(gleg)


def test_a_stranger_does_not_replace_a_name_of_core(installed) -> None:
    installed(pack(Tool("solve", "Another one", "fractions:Fraction")))
    from gleg_core.solver import solve

    assert gleg.solve is solve


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("discover", "the name 'discover' comes with gleg-discovery:   pip install gleg-discovery"),
        ("ensemble", "the name 'ensemble' comes with gleg-sweeps:   pip install gleg-sweeps"),
        ("open_run", "the name 'open_run' comes with gleg-results:   pip install gleg-results"),
        ("solv", "module 'gleg' has no attribute 'solv'. Did you mean 'solve'?"),
    ],
)
def test_what_is_missing_says_what_brings_it(installed, name: str, message: str) -> None:
    installed()
    with pytest.raises(AttributeError) as caught:
        getattr(gleg, name)
    assert str(caught.value) == message
    assert not hasattr(gleg, name)
    with pytest.raises(ImportError) as refused:
        exec(f"from gleg import {name}")
    assert str(refused.value) == message
