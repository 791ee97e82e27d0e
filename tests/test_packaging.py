"""The distributions as a user gets them: built as wheels, installed in an empty environment, away from the sources."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from email import message_from_string
from pathlib import Path
from textwrap import dedent

import importlib_metadata
import pytest
from distributions import CORE, PACKS, ROOT, SOURCES, UMBRELLA, Source, canonical, imported, outside
from environments import Environment, run

pytestmark = pytest.mark.xdist_group("packaging")  # one worker, so that the wheels are built once

NOT_IMPORTED = {
    # distribution: {dependency that no module imports: why it is declared all the same}
    "gleg-core": {"h5netcdf": "xarray's engine for result files", "h5py": "the backend h5netcdf needs"},
}


OURS = ",".join(pack for source in PACKS for pack in source.packs)
"""Allow-list for GLEG_PACKS: the environment of the tests may hold packs of other people."""


def ids(source: Source) -> str:
    return source.name


@pytest.fixture(scope="session")
def python(environment: Environment) -> Path:
    """The interpreter of an environment with the wheels."""
    return environment.python


# --- the wheels -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", SOURCES, ids=ids)
def test_a_wheel_holds_the_typed_package_and_nothing_else(source: Source, wheels: dict[str, Path]) -> None:
    files = zipfile.ZipFile(wheels[source.name]).namelist()
    tops = {name.partition("/")[0] for name in files}
    assert tops == {source.package, f"{source.package}-{source.project['version']}.dist-info"}
    assert f"{source.package}/py.typed" in files
    assert [name for name in files if Path(name).name.startswith("test_") or "/tests/" in name] == []
    kept = {str(p.relative_to(source.folder / "src")) for p in source.modules}
    assert kept <= set(files)


@pytest.mark.parametrize("source", [*SOURCES, UMBRELLA], ids=ids)
def test_a_wheel_states_licence_readme_and_python(source: Source, wheels: dict[str, Path]) -> None:
    with zipfile.ZipFile(wheels[source.name]) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
        metadata = message_from_string(archive.read(name).decode())
    assert metadata["License-Expression"] == "MIT"
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["Summary"]
    assert source.name in str(metadata.get_payload())


def test_the_umbrella_wheel_holds_the_examples_and_nothing_else(wheels: dict[str, Path]) -> None:
    files = zipfile.ZipFile(wheels[UMBRELLA.name]).namelist()
    held = {name for name in files if ".dist-info/" not in name}
    examples = ROOT / "examples"
    shipped = [*examples.glob("*.yaml"), *examples.glob("references/*.nc")]
    assert held == {f"gleg_examples/{path.relative_to(examples)}" for path in shipped}


# --- the environment ------------------------------------------------------------------------------------------------


def test_every_package_is_imported_from_its_wheel(python: Path, tmp_path: Path) -> None:
    packages = [source.package for source in SOURCES]
    program = f"import importlib, json; print(json.dumps([importlib.import_module(p).__file__ for p in {packages}]))"
    for folder in (tmp_path, ROOT):
        found = json.loads(run(python, "-c", program, cwd=folder))
        assert [path for path in found if not Path(path).is_relative_to(python.parent.parent)] == [], folder


def test_all_packs_are_discovered(python: Path, tmp_path: Path) -> None:
    program = """
        import json
        from gleg_core.registry import Registry
        registry = Registry.discover()
        packs = {p.id: [p.module, p.distribution, p.version, p.licence] for p in registry.packs}
        print(json.dumps([packs, list(map(str, registry.failures))]))
    """
    packs, failures = json.loads(run(python, "-c", dedent(program), cwd=tmp_path, GLEG_PACKS=OURS))
    assert failures == []
    expected = {
        pack: [module, source.name, source.project["version"], "MIT"]
        for source in PACKS
        for pack, module in source.packs.items()
    }
    assert packs == expected


def test_every_pack_offers_something_and_every_component_can_be_imported(python: Path, tmp_path: Path) -> None:
    program = """
        import json
        from gleg_core.pack import CONTRACTS
        from gleg_core.registry import Registry
        registry = Registry.discover()
        empty = [p.id for p in registry.packs if not any(p.entries.values())]
        wrong = []
        for contract in CONTRACTS:
            for component in registry.entries(contract).values():
                model = registry.params(component)
                registry.factory(component)
                for example in component.entry.examples:
                    try:
                        model.model_validate(dict(example))
                    except Exception as error:
                        wrong.append(f"{component.key}: {error}")
        print(json.dumps([empty, wrong]))
    """
    assert json.loads(run(python, "-c", dedent(program), cwd=tmp_path, GLEG_PACKS=OURS)) == [[], []]


def test_the_command_line_is_installed(python: Path, tmp_path: Path) -> None:
    gleg = python.parent / "gleg"
    assert CORE.project["version"] in run(gleg, "--version", cwd=tmp_path)
    listed = run(gleg, "packs", cwd=tmp_path, COLUMNS="200")
    assert [pack for source in PACKS for pack in source.packs if pack not in listed] == []


def test_the_examples_are_installed(python: Path, tmp_path: Path) -> None:
    gleg = python.parent / "gleg"
    assert "mms-1-rosette" in run(gleg, "examples", "list", cwd=tmp_path)
    run(gleg, "examples", "copy", "mms-1-rosette", cwd=tmp_path)
    assert "valid" in run(gleg, "validate", "mms-1-rosette.yaml", cwd=tmp_path)


def test_a_problem_is_solved_with_the_weights_in_the_wheels(python: Path, tmp_path: Path) -> None:
    """Heat on a disk with the learned diffusion: nothing of the source tree is there, so its weights came in the wheel."""
    problem = {
        "domain": {"kind": "disk", "radius": 1},
        "basis": {"kind": "fourier", "K": 8},
        "fields": {
            "u": {
                "exact": "besselj0(2.404825557695773*sqrt(x^2 + y^2))*exp(-5.783185962946784*t)",
                "boundary": [{"kind": "dirichlet"}],
                "equation": [{"block": "diffusion", "twin": "learned"}],
            }
        },
        "time": {"end": 0.1, "step": 0.01},
    }
    (tmp_path / "heat.json").write_text(json.dumps(problem))
    run(python.parent / "gleg", "run", "heat.json", cwd=tmp_path, GLEG_CACHE="off")
    assert json.loads((tmp_path / "heat-run" / "metrics.json").read_text())["relative_l2"]["max"] < 1e-4


# --- dependencies ---------------------------------------------------------------------------------------------------


def third_party(source: Source) -> set[str]:
    """Distributions whose modules a source folder imports, at top level or lazily."""
    owners = importlib_metadata.packages_distributions()
    names = outside(name for path in source.modules for name in imported(path)) - {source.package}
    return {canonical(owners[n][0]) if n in owners and not n.startswith("gleg") else canonical(n) for n in names}


@pytest.mark.parametrize("source", SOURCES, ids=ids)
def test_what_is_imported_is_declared(source: Source) -> None:
    assert third_party(source) - source.dependencies - source.extras == set()


@pytest.mark.parametrize("source", SOURCES, ids=ids)
def test_what_is_declared_is_imported(source: Source) -> None:
    excused = set(NOT_IMPORTED.get(source.name, {})) | {CORE.name}
    assert source.dependencies - third_party(source) - excused == set()


@pytest.mark.parametrize("source", PACKS, ids=ids)
def test_a_pack_depends_on_core_and_on_no_other_pack(source: Source) -> None:
    ours = {other.name for other in SOURCES}
    assert source.dependencies & ours == {CORE.name}
    assert third_party(source) & ours <= {CORE.name}


def test_core_depends_on_no_pack() -> None:
    packs = {source.name for source in PACKS}
    assert CORE.dependencies & packs == set()
    assert third_party(CORE) & packs == set()


def test_the_umbrella_depends_on_every_distribution() -> None:
    assert UMBRELLA.dependencies == {source.name for source in SOURCES}


# --- scale ----------------------------------------------------------------------------------------------------------


def test_a_thousand_packs_are_listed_without_heavy_imports() -> None:
    """The benchmark checks memory and imports as well as its time; time is left to the benchmark, which runs alone."""
    script = ROOT / "benchmarks" / "many_packs.py"
    done = subprocess.run([sys.executable, script, "--seconds", "600"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
