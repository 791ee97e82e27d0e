"""Who may import whom: one way through core, and from outside only what core has promised."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest
from distributions import CORE, EXAMPLES, PACKS, ROOT, Source

from gleg_core.public import AUTHORS, TOOLS

ORDER = [
    "errors", "coordinates", "stopwatch", "atomic", "folders", "threads", "matmul", "capabilities", "pack", "public", "box", "expressions",
    "contracts", "weight_files", "registry", "spec", "weights", "mechanisms", "terminal", "algebra", "system", "estimate", "run", "solver",
]  # fmt: skip
"""Rooms of core; each imports only those before it: files and packs, then problems, then algebra, then the system, then its solution."""
HOME = CORE.folder / "src" / "gleg_core"
PROMISED = {
    module: {*AUTHORS.get(module, "").split(), *TOOLS.get(module, "").split()} for module in {**AUTHORS, **TOOLS}
}
TOOL_NAMES = {
    "gleg-accuracy",
    "gleg-cli",
    "gleg-conformance",
    "gleg-discovery",
    "gleg-learning",
    "gleg-market",
    "gleg-results",
    "gleg-sweeps",
    "gleg-toolbox",
}


def is_module(name: str) -> bool:
    """Whether ``algebra.linear``, say, is a module of core."""
    place = HOME / Path(*name.split("."))
    return place.with_suffix(".py").exists() or place.is_dir()


def imports(tree: ast.Module, typing: bool = True) -> Iterator[tuple[str, str]]:
    """(module of core, name) of everything a file takes from it: by imports, also lazy ones, as attributes of modules, and by import_module
    with a literal. ``typing``: also what only type checkers see; an annotation breaks no user, but its author when the name is gone."""
    unseen = {
        id(n)
        for i in ast.walk(tree)
        if isinstance(i, ast.If) and "TYPE_CHECKING" in ast.unparse(i.test)
        for n in ast.walk(i)
    }
    modules: dict[str, str] = {}
    """Expression → the module of core it stands for: ``solver``, ``gleg_core.solver``."""
    for node in ast.walk(tree):
        if id(node) in unseen and not typing:
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "gleg_core":
            module = str(node.module).removeprefix("gleg_core").lstrip(".")
            for alias in node.names:
                whole = f"{module}.{alias.name}".lstrip(".")
                if is_module(whole):
                    modules[alias.asname or alias.name] = whole
                    yield whole, ""
                else:
                    yield module, alias.name
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == "gleg_core":
                    modules[alias.asname or "gleg_core"] = (
                        alias.name.removeprefix("gleg_core").lstrip(".") if alias.asname else ""
                    )
                    yield alias.name.removeprefix("gleg_core").lstrip("."), ""
        elif isinstance(node, ast.Call) and node.args and ast.unparse(node.func).endswith("import_module"):
            said = node.args[0].value if isinstance(node.args[0], ast.Constant) else ""
            if str(said).partition(".")[0] == "gleg_core":
                yield str(said).removeprefix("gleg_core").lstrip("."), ""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            head, *names = ast.unparse(node).split(".")
            whole = modules.get(head)
            while whole is not None and names and is_module(f"{whole}.{names[0]}".lstrip(".")):
                whole = f"{whole}.{names.pop(0)}".lstrip(".")
            if whole is not None and names:
                yield whole, names[0]


def imports_of(path: Path, typing: bool = True) -> Iterator[tuple[str, str]]:
    return imports(ast.parse(path.read_text(encoding="utf-8")), typing)


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("from gleg_core import solver\nsolver._strategy(1)", ("solver", "_strategy")),
        ("import gleg_core.solver as s\ns._strategy", ("solver", "_strategy")),
        ("import gleg_core.solver\ngleg_core.solver._strategy", ("solver", "_strategy")),
        ("import gleg_core\ngleg_core.algebra.cache.load", ("algebra.cache", "load")),
        ("from gleg_core.algebra import cache as c\nc.load()", ("algebra.cache", "load")),
        ("import importlib\nimportlib.import_module('gleg_core.algebra.cache')", ("algebra.cache", "")),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from gleg_core.threads import _torch", ("threads", "_torch")),
        ("def lazy():\n    from gleg_core.threads import _torch", ("threads", "_torch")),
    ],
)  # fmt: skip
def test_whatever_way_a_name_is_taken_it_is_seen(text: str, taken: tuple[str, str]) -> None:
    assert taken in set(imports(ast.parse(text)))


def test_every_room_of_core_has_its_place() -> None:
    rooms = {p.relative_to(HOME).parts[0].removesuffix(".py") for p in HOME.rglob("*.py")} - {"__init__"}
    assert rooms == set(ORDER)


@pytest.mark.parametrize("room", ORDER)
def test_core_is_read_in_one_direction(room: str) -> None:
    place = HOME / room
    wrong = [
        f"{path.relative_to(HOME)} imports {module}"
        for path in (sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")])
        for module, _ in imports_of(path, typing=False)
        if module and (other := module.partition(".")[0]) != room and ORDER.index(other) > ORDER.index(room)
    ]
    assert wrong == []


@pytest.mark.parametrize("module", sorted(PROMISED))
def test_what_is_promised_is_there_and_documented(module: str) -> None:
    found = importlib.import_module(f"gleg_core.{module}".rstrip("."))
    assert (found.__doc__ or "").strip()
    for name in PROMISED[module]:
        thing = getattr(found, name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert (thing.__doc__ or "").strip(), f"{module}.{name} says nothing"


@pytest.mark.parametrize("source", [*PACKS, *EXAMPLES], ids=lambda s: s.name)
def test_packs_and_tools_import_what_is_promised(source: Source) -> None:
    surface = (
        PROMISED if source.name in TOOL_NAMES else {module: set(names.split()) for module, names in AUTHORS.items()}
    )
    wrong = {
        f"{path.relative_to(ROOT)}: {module}.{name}"
        for path in source.modules
        for module, name in imports_of(path)
        if module not in surface or (name and name not in surface[module])
    }
    assert wrong == set()


def test_tests_of_core_need_core_and_components_only() -> None:
    tools = {name.replace("-", "_") for name in TOOL_NAMES}
    found = {
        f"{path.name}: {node.module}"
        for path in sorted((CORE.folder / "tests").glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in tools
    }
    assert found == set()
