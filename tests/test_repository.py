"""The shape of the repository: what every contributor may rely on."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from distributions import CORE, EXAMPLES, PACKS, ROOT, SOURCES, UMBRELLA, Source, imported, outside, requirement_name

from gleg_core.registry.catalogue import first_party, shipped_offers

LONGEST_MODULE = 400
PICKLES = {".bin", ".ckpt", ".joblib", ".pickle", ".pkl", ".pt", ".pth"}
SKIPPED = {".git", ".venv", "out", "build", "dist", "__pycache__"}


def ids(source: Source) -> str:
    return source.name


def files(pattern: str) -> list[Path]:
    """Files of the repository, without environments, caches and outputs."""
    found = (path.relative_to(ROOT) for path in ROOT.rglob(pattern))
    return sorted(path for path in found if not SKIPPED & set(path.parts))


@pytest.mark.parametrize("source", SOURCES, ids=ids)
def test_a_distribution_is_complete(source: Source) -> None:
    package = source.folder / "src" / source.package
    expected = [source.folder / "README.md", package / "__init__.py", package / "py.typed"]
    assert [str(path.relative_to(ROOT)) for path in expected if not path.is_file()] == []
    assert list((source.folder / "tests").glob("test_*.py")), f"{source.name} has no tests"
    assert len(source.packs) == (0 if source == CORE else 1)
    assert source.folder.name == source.package


def test_folders_are_not_packages() -> None:
    """An __init__.py there would make ``import gleg_core`` from the repository root find the folder."""
    folders = {
        ROOT,
        ROOT / "plugins",
        ROOT / "tests",
        *(s.folder for s in SOURCES),
        *(s.folder / "tests" for s in SOURCES),
    }
    assert [str(f.relative_to(ROOT)) for f in folders if (f / "__init__.py").exists()] == []


@pytest.mark.parametrize("source", SOURCES, ids=ids)
def test_a_package_imported_from_the_root_is_the_installed_one(source: Source) -> None:
    program = f"import {source.package}; print({source.package}.__file__)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()).name == "__init__.py"


def test_modules_are_short() -> None:
    lengths = {
        str(p.relative_to(ROOT)): len(p.read_text(encoding="utf-8").splitlines()) for s in SOURCES for p in s.modules
    }
    assert {path: n for path, n in lengths.items() if n > LONGEST_MODULE} == {}


def test_test_files_have_unique_names() -> None:
    """pytest imports them by their file name; see the remark in pyproject.toml."""
    names = Counter(path.name for path in files("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []


# --- weights and untrusted data -------------------------------------------------------------------------------------


def test_no_pickled_weights() -> None:
    assert [str(path) for path in files("*") if path.suffix in PICKLES] == []


def unsafe(path: Path) -> list[str]:
    """Ways of reading data that can run code."""
    calls = [n.func for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.Call)]
    named = {ast.unparse(function) for function in calls}
    forbidden = {"torch.load", "torch.save", "eval", "exec", "yaml.load", "yaml.unsafe_load"}
    return sorted((named & forbidden) | (set(imported(path)) & {"pickle", "dill", "cloudpickle", "joblib"}))


def test_no_module_unpickles_or_evaluates() -> None:
    found = {str(path.relative_to(ROOT)): unsafe(path) for source in SOURCES for path in source.modules}
    assert {path: names for path, names in found.items() if names} == {}


# --- the direction of imports ---------------------------------------------------------------------------------------


def test_core_imports_no_pack() -> None:
    packs = {source.package for source in PACKS}
    found = {str(path.relative_to(ROOT)): outside(imported(path)) & packs for path in CORE.modules}
    assert {path: names for path, names in found.items() if names} == {}


def test_core_names_no_basis_no_integrator_and_no_way_to_train() -> None:
    """In messages and docstrings; words of English, as elements is one, are not names."""
    offers = [o for o in shipped_offers() if o.distribution in first_party() and o.contract in ("basis", "integrator")]
    names = {o.name for o in offers} - {"elements"} | {"gleg train", "finite elements have", "gleg_cli"}
    name = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, sorted(names)))})(?![\w-])")
    found = {(path.name, word) for path in CORE.modules for word in name.findall(path.read_text(encoding="utf-8"))}
    assert found == set()


@pytest.mark.parametrize("source", PACKS, ids=ids)
def test_an_entry_module_is_light(source: Source) -> None:
    for module in source.packs.values():
        path = source.folder / "src" / Path(*module.split(".")).with_suffix(".py")
        foreign = {name for name in imported(path, top_level_only=True) if outside(iter([name]))}
        assert foreign <= {"gleg_core.pack"}, path


# --- configuration --------------------------------------------------------------------------------------------------


def constraints() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert [pin for pin in pins if not re.fullmatch(r"[A-Za-z0-9_.-]+==[A-Za-z0-9_.!]+", pin)] == []
    return {requirement_name(pin): pin.partition("==")[2] for pin in pins}


def test_constraints_pin_every_direct_dependency() -> None:
    pins = constraints()
    assert pins["torch"] == "2.13.0"
    tools = {requirement_name(text) for text in UMBRELLA.project["optional-dependencies"]["dev"]}
    wanted = set.union(tools, *(source.dependencies for source in SOURCES)) - {source.name for source in SOURCES}
    assert wanted - set(pins) == set()


def test_type_checks_cover_every_source_folder() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]
    expected = {str((source.folder / "src").relative_to(ROOT)) for source in [*SOURCES, *EXAMPLES]}
    assert set(settings["mypy_path"].split(":")) == expected


def test_continuous_integration_runs_the_tests() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert script.read_text(encoding="utf-8").splitlines()[-1] == "make test"
