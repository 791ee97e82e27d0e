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


def imports(path: Path) -> Iterator[tuple[str, str]]:
    """(module of core, name) of everything a file imports from it, also lazily; what only type checkers see is left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    unseen = {
        id(n)
        for i in ast.walk(tree)
        if isinstance(i, ast.If) and "TYPE_CHECKING" in ast.unparse(i.test)
        for n in ast.walk(i)
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.ImportFrom)
            and (node.module or "").partition(".")[0] == "gleg_core"
            and id(node) not in unseen
        ):
            module = str(node.module).removeprefix("gleg_core").lstrip(".")
            for alias in node.names:
                whole = f"{module}.{alias.name}".lstrip(".")
                is_module = (HOME / Path(*whole.split("."))).with_suffix(".py").exists() or (
                    HOME / Path(*whole.split("."))
                ).is_dir()
                yield (whole, "") if is_module else (module, alias.name)
        elif isinstance(node, ast.Import) and id(node) not in unseen:
            yield from (
                (a.name.removeprefix("gleg_core").lstrip("."), "")
                for a in node.names
                if a.name.partition(".")[0] == "gleg_core"
            )


def test_every_room_of_core_has_its_place() -> None:
    rooms = {p.relative_to(HOME).parts[0].removesuffix(".py") for p in HOME.rglob("*.py")} - {"__init__"}
    assert rooms == set(ORDER)


@pytest.mark.parametrize("room", ORDER)
def test_core_is_read_in_one_direction(room: str) -> None:
    place = HOME / room
    wrong = [
        f"{path.relative_to(HOME)} imports {module}"
        for path in (sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")])
        for module, _ in imports(path)
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
        for module, name in imports(path)
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
