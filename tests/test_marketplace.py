"""Packs that are not ours to install: the example packs as wheels in an environment of their own, used, then removed, core untouched."""

from __future__ import annotations

import hashlib
import math
import subprocess
from pathlib import Path

import pytest
from distributions import EXAMPLES, ROOT, Source
from environments import Environment, build_wheels, run

TOOLBOX = next(source for source in EXAMPLES if source.name == "gleg-toolbox")
CONTRACTS = ["block", "basis", "boundary", "integrator", "dictionary", "domain"]


def files_of(environment: Environment) -> dict[str, str]:
    """Hashes of all installed files of first-party distributions."""
    (site,) = (environment.home / "lib").glob("python*/site-packages")
    paths = (p for p in site.glob("gleg*/**/*") if p.is_file() and "__pycache__" not in p.parts)
    return {str(p.relative_to(site)): hashlib.sha256(p.read_bytes()).hexdigest() for p in paths}


def validate(environment: Environment, problem: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [environment.home / "bin" / "gleg", "validate", problem]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("source", [s for s in EXAMPLES if s != TOOLBOX], ids=lambda source: source.name)
def test_a_stranger_s_pack_is_installed_used_and_removed(
    source: Source, wheels: dict[str, Path], tmp_path: Path
) -> None:
    environment = Environment.make(tmp_path / "environment", wheels.values())
    before = files_of(environment)
    problems = sorted((source.folder / "examples").glob("*.yaml"))
    assert problems
    missing = validate(environment, problems[0], tmp_path)
    assert missing.returncode in (2, 3)
    assert f"pip install {source.name}" in missing.stderr
    (wheel,) = build_wheels([source.folder], tmp_path).values()
    environment.pip("install", "--no-deps", "--find-links", tmp_path, source.name)
    assert wheel.name.startswith(source.package)
    for problem in problems:
        assert validate(environment, problem, tmp_path).returncode == 0, problem
    (pack,) = source.packs
    checks = {"GLEG_CHECKS": str(tmp_path / "checks")}
    environment.gleg("check", pack, cwd=tmp_path, **checks)
    assert " passed" in environment.gleg("packs", pack, cwd=tmp_path, **checks)
    run(environment.python, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", ".", cwd=source.folder / "tests")
    environment.pip("uninstall", "-y", source.name)
    assert f"pip install {source.name}" in validate(environment, problems[0], tmp_path).stderr
    assert files_of(environment) == before


def test_a_stranger_s_tools_are_installed_used_and_removed(wheels: dict[str, Path], tmp_path: Path) -> None:
    """A command, an output format, keys of problem files, a check, an engine of sweeps and a name of ``gleg``."""
    environment = Environment.make(tmp_path / "environment", wheels.values())
    before, problem = files_of(environment), TOOLBOX.folder / "examples" / "noted-disk.yaml"
    refused = validate(environment, problem, tmp_path)
    assert refused.returncode == 2 and "notes: unknown key" in refused.stderr
    build_wheels([TOOLBOX.folder], tmp_path)
    environment.pip("install", "--no-deps", "--find-links", tmp_path, TOOLBOX.name)
    own = {"GLEG_CACHE": str(tmp_path / "spaces"), "GLEG_CHECKS": str(tmp_path / "checks")}

    def gleg(*arguments: str) -> str:
        return environment.gleg(*arguments, cwd=tmp_path, **own)

    assert "mass " in gleg("--help")
    assert "heat, disk" in gleg("mass", str(problem))
    gleg("run", str(problem), "--out", "disk")
    assert [path.name for path in sorted((tmp_path / "disk" / "vtu").iterdir())] == [f"000{i}.vtu" for i in range(3)]
    gleg("sweep", str(problem), "--vary", "time.end=0.1,0.2", "--engine", "serial", "--out", "sweep")
    assert len((tmp_path / "sweep" / "table.csv").read_text(encoding="utf-8").splitlines()) == 3
    assert "(toolbox)" in gleg("check", "--list")
    assert "ok        summary-has-no-full-stop" in gleg("check", "diffusion:diffusion", "-v")
    query = f"import gleg; print(gleg.mass({str(problem)!r})['u'], *gleg.load({str(problem)!r}).added[0].model.notes.keywords)"
    mass, *keywords = run(environment.python, "-c", query, cwd=tmp_path, **own).split()
    assert abs(float(mass) - 2 * math.pi) < 1e-9 and keywords == ["heat", "disk"]
    run(environment.python, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", ".", cwd=TOOLBOX.folder / "tests")
    environment.pip("uninstall", "-y", TOOLBOX.name)
    assert validate(environment, problem, tmp_path).stderr == refused.stderr
    assert files_of(environment) == before


@pytest.mark.parametrize("source", EXAMPLES, ids=lambda source: source.name)
def test_nothing_of_ours_knows_the_example_packs(source: Source) -> None:
    """The catalogue may name a pack; no module may."""
    ours = [p for folder in ("gleg_*/src", "plugins/gleg_*/src") for p in ROOT.glob(f"{folder}/**/*.py")]
    assert ours
    assert [p for p in ours if source.package in p.read_text(encoding="utf-8")] == []


@pytest.mark.parametrize("contract", CONTRACTS)
def test_a_new_pack_passes_kit_tests_and_examples_as_it_was_written(
    contract: str, environment: Environment, tmp_path: Path
) -> None:
    """Installed beside the shared environment by a path of its own, so that the environment stays as it is."""
    environment.gleg("new-pack", "fresh", "--contract", contract, "--out", str(tmp_path), cwd=tmp_path)
    (folder,) = (p for p in tmp_path.iterdir() if p.name.startswith("gleg-"))
    (wheel,) = build_wheels([folder], tmp_path).values()
    site = tmp_path / "site"
    environment.pip("install", "--no-deps", "--target", site, wheel)
    mine = {"PYTHONPATH": str(site), "GLEG_CHECKS": str(tmp_path / "checks")}
    assert " 0 failed" in environment.gleg("check", "fresh", cwd=tmp_path, **mine)
    run(environment.python, "-m", "pytest", "-q", "-x", cwd=folder, **mine)
    for problem in sorted((folder / "examples").glob("*.yaml")):
        environment.gleg("run", str(problem), "--set", "unresolved=fail", cwd=tmp_path, **mine)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["Fresh!"], "must match"),
        (["fresh", "--contract", "blok"], "Did you mean 'block'?"),
        (["fresh", "--licence", "MITT"], "Did you mean 'MIT'?"),
        (["diffusion"], "belongs to gleg-blocks-diffusion"),
    ],
)
def test_a_name_that_cannot_work_is_refused(arguments: list[str], message: str, tmp_path: Path) -> None:
    from click.testing import CliRunner

    from gleg_cli.main import gleg

    result = CliRunner().invoke(gleg, ["new-pack", *arguments, "--out", str(tmp_path)])
    assert message in str(result.exception)
    assert list(tmp_path.iterdir()) == []


def test_an_existing_folder_is_not_touched(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from gleg_cli.main import gleg

    (tmp_path / "gleg-blocks-fresh").mkdir()
    result = CliRunner().invoke(gleg, ["new-pack", "fresh", "--out", str(tmp_path)])
    assert "exists already" in str(result.exception)
    assert list((tmp_path / "gleg-blocks-fresh").iterdir()) == []
