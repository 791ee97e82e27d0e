"""The distributions as a user gets them: built as wheels, installed in an empty environment, away from the sources."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterable
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
    "gleg-results": {"h5py": "the backend h5netcdf needs"},
    "gleg-discovery": {"h5netcdf": "xarray's engine for result files", "h5py": "the backend h5netcdf needs"},
    "gleg-learning": {"h5netcdf": "xarray's engine for data files", "h5py": "the backend h5netcdf needs"},
    "gleg-sweeps": {"h5netcdf": "xarray's engine for result files", "h5py": "the backend h5netcdf needs"},
}
HEAVY = ("click", "h5netcdf", "h5py", "matplotlib", "pandas", "rich", "xarray")
"""What nobody needs who solves a problem in memory."""
SMALLEST = ("gleg-core", "gleg-bc", "gleg-basis-fourier", "gleg-domains", "gleg-blocks-diffusion", "gleg-integrators")
TOOLS = {
    # tool: the one tool it may build on
    "gleg-results": None,
    "gleg-cli": "gleg-results",
    "gleg-discovery": "gleg-results",
    "gleg-sweeps": "gleg-results",
    "gleg-accuracy": None,
    "gleg-learning": None,
    "gleg-market": None,
    "gleg-conformance": "gleg-market",
}
HEAT = {
    "domain": {"kind": "disk", "radius": 1},
    "fields": {
        "u": {
            "exact": "besselj0(2.404825557695773*sqrt(x^2 + y^2))*exp(-5.783185962946784*t)",
            "boundary": [{"kind": "dirichlet"}],
            "equation": [{"block": "diffusion", "twin": "learned"}],
        }
    },
    "basis": {"kind": "fourier", "K": 8},
    "time": {"end": 0.1, "step": 0.01},
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
    packages = {source.package, *(["gleg"] if source == CORE else [])}
    assert tops == {*packages, f"{source.package}-{source.project['version']}.dist-info"}
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
        empty = [p.id for p in registry.packs if not any(p.entries.values()) and not any(p.tools.values())]
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
    (tmp_path / "heat.json").write_text(json.dumps(HEAT))
    run(python.parent / "gleg", "run", "heat.json", cwd=tmp_path, GLEG_CACHE="off")
    assert json.loads((tmp_path / "heat-run" / "metrics.json").read_text())["relative_l2"]["max"] < 1e-4


# --- parts of it ----------------------------------------------------------------------------------------------------

Install = Callable[..., Environment]


@pytest.fixture
def install(tmp_path_factory: pytest.TempPathFactory, wheels: dict[str, Path]) -> Install:
    """An environment with the smallest set of distributions, and with these."""

    def make(*names: str) -> Environment:
        chosen = [wheels[name] for name in (*SMALLEST, *names)]
        return Environment.make(tmp_path_factory.mktemp("part"), chosen)

    return make


def program(text: str, *, without: Iterable[str] = ()) -> str:
    """A program for an environment in which these modules are not installed."""
    hidden = "".join(f"sys.modules[{name!r}] = None\n" for name in without)
    return f"import json, sys\n{hidden}problem = json.loads({json.dumps(HEAT)!r})\n{dedent(text)}"


def test_a_problem_is_solved_in_memory_without_any_tool(install: Install, tmp_path: Path) -> None:
    environment = install()
    text = """
        import gleg
        run = gleg.solve(problem)
        assert abs(run.u(0.0, 0.0, 0.1) - 0.5608) < 1e-3, run.u(0.0, 0.0, 0.1)
        assert run.estimate is None
        try:
            gleg.solve(problem | {"accuracy": 1e-3})
        except gleg.GlegError as error:
            assert "pip install gleg-accuracy" in str(error), error
        else:
            raise AssertionError("an accuracy that nobody looks after")
        for name, brings in (("plot", "gleg-results"), ("dataset", "gleg-results")):
            try:
                getattr(run, name)
            except AttributeError as error:
                assert f"pip install {brings}" in str(error), error
        for name, brings in (("discover", "gleg-discovery"), ("ensemble", "gleg-sweeps"), ("open_run", "gleg-results")):
            try:
                getattr(gleg, name)
            except AttributeError as error:
                assert f"pip install {brings}" in str(error), error
    """
    run(environment.python, "-W", "error", "-c", program(text, without=HEAVY), cwd=tmp_path, GLEG_CACHE="off")
    assert not (environment.home / "bin" / "gleg").exists()


def test_a_problem_that_needs_finite_elements_says_so_and_is_solved_with_them(
    install: Install, wheels: dict[str, Path], tmp_path: Path
) -> None:
    """On an L-shape without the key 'basis'; the pip command that is shown is all it takes."""
    environment = install()
    text = """
        import gleg
        corners = [[0, 0], [1, 0], [1, 1], [0.5, 1], [0.5, 0.5], [0, 0.5]]
        u = {"initial": "exp(x)", "boundary": [{"kind": "dirichlet"}], "equation": [{"block": "diffusion"}]}
        problem = {"domain": {"kind": "polygon", "vertices": corners}, "fields": {"u": u}, "time": {"end": 0.001}}
        try:
            print(gleg.solve(problem).discretisation.problem.basis.key)
        except Exception as error:
            print(f"{type(error).__name__}: {error}")
    """

    def said() -> str:
        return run(environment.python, "-c", program(text, without=HEAVY), cwd=tmp_path, GLEG_CACHE="off").strip()

    assert said() == (
        "PackError: problem: basis: the file names none, and none that is installed suits a solution that is not smooth "
        "(corner of 270° at (0.5, 0.5)); one comes with gleg-basis-elements:   pip install gleg-basis-elements"
    )
    environment.pip("install", "--no-deps", wheels["gleg-basis-elements"])
    assert said() == "elements:elements"


def test_keys_of_a_tool_that_is_not_installed_are_said_once_and_not_used(install: Install, tmp_path: Path) -> None:
    text = """
        import warnings, gleg
        problem |= {"output": {"frames": 2, "probes": [[0, 0]]}, "plan": {"window": 1}}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run = gleg.solve(problem)
        told = [str(w.message) for w in caught]
        assert len(run.times) == 3 and len(told) == 2, told
        assert "output.probes: not used here: it belongs to gleg-results:   pip install gleg-results" in told[1], told
        assert "plan: not used here: it belongs to gleg-discovery:   pip install gleg-discovery" in told[0], told
    """
    run(install().python, "-c", program(text, without=HEAVY), cwd=tmp_path, GLEG_CACHE="off")


def test_the_command_line_needs_core_and_results(install: Install, tmp_path: Path) -> None:
    environment = install("gleg-cli", "gleg-results")
    (tmp_path / "heat.json").write_text(json.dumps(HEAT))
    assert "valid" in environment.gleg("validate", "heat.json", cwd=tmp_path)
    environment.gleg("run", "heat.json", cwd=tmp_path, GLEG_CACHE="off")
    assert (tmp_path / "heat-run" / "fields.png").is_file()
    environment.gleg("score", "heat-run", cwd=tmp_path, GLEG_CACHE="off")
    for command, brings in (
        ("discover", "gleg-discovery"),
        ("sweep", "gleg-sweeps"),
        ("packs", "gleg-market"),
        ("check", "gleg-conformance"),
    ):
        done = subprocess.run([environment.home / "bin" / "gleg", command], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (3, "") and f"pip install {brings}\n" in done.stderr, done.stderr


USES = {
    "gleg-results": "import gleg\nrun = gleg.solve(problem)\nrun.save('r')\nassert gleg.open_run('r').metrics['relative_l2']['max'] < 1e-4",
    "gleg-accuracy": "import gleg\nrun = gleg.solve(problem)\nassert 0 < float(run.estimate) < 1e-4 and not run.estimate.unresolved",
    "gleg-sweeps": "import gleg\nassert len(gleg.ensemble(problem, [{}, {}])) == 2",
    "gleg-discovery": "from gleg_discovery.observations import read_observations\nimport gleg\nassert gleg.discover and gleg.plan",
    "gleg-learning": "from gleg_learning.describe import describe_blocks\nimport gleg\n"
    "assert [d.card.held_out < 1e-12 for d in describe_blocks(gleg.default_registry()) if d.card] == [True]",
    "gleg-market": "from gleg_market.lock import make_lock\nfrom gleg_core.spec.problem import load_problem\n"
    "assert 'diffusion' in make_lock(load_problem(problem)).packs",
    "gleg-conformance": "from gleg_conformance.runner import run_component\nimport gleg\nr = gleg.default_registry()\n"
    "assert {x.status for x in run_component(r.find('boundary', 'dirichlet'), r)} <= {'passed', 'not applicable'}",
    "gleg-cli": "from gleg_cli.main import gleg",
}


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_works_with_nothing_but_what_it_declares(tool: str, install: Install, tmp_path: Path) -> None:
    below = TOOLS[tool]
    own = next(source for source in PACKS if source.name == tool)
    brought = own.dependencies | below_of(below)
    hidden = [name for name in HEAVY if name not in brought and not (name == "pandas" and "xarray" in brought)]
    environment = install(tool, *([below] if below else []))
    run(environment.python, "-c", program(USES[tool], without=hidden), cwd=tmp_path, GLEG_CACHE="off")


def below_of(tool: str | None) -> set[str]:
    """What the tool below brings with it."""
    return next((source.dependencies for source in PACKS if source.name == tool), set())


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
def test_a_pack_depends_on_core_and_at_most_on_one_tool_below_it(source: Source) -> None:
    ours, below = {other.name for other in SOURCES}, TOOLS.get(source.name)
    assert source.dependencies & ours == {CORE.name} | ({below} if below else set())
    assert third_party(source) & ours <= source.dependencies | {"gleg"}


def test_tools_build_on_tools_that_build_on_none() -> None:
    assert {below for below in TOOLS.values() if below and TOOLS[below]} == set()


def test_core_depends_on_what_the_project_allows() -> None:
    assert CORE.dependencies == {
        "annotated-types", "importlib-metadata", "numpy", "platformdirs", "pluggy", "pydantic", "pyyaml", "safetensors", "scipy",
        "threadpoolctl", "torch",
    }  # fmt: skip


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
