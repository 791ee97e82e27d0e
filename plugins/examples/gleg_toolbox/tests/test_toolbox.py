"""Everything the toolbox adds, used as a user would."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml
from click.testing import CliRunner

import gleg
from gleg_cli.main import gleg as command
from gleg_conformance.runner import run_component
from gleg_core.errors import SpecError

PROBLEM = Path(__file__).parents[1] / "examples" / "noted-disk.yaml"
STATED: dict[str, Any] = yaml.safe_load(PROBLEM.read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GLEG_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(*arguments: Any) -> str:
    done = CliRunner().invoke(command, list(map(str, arguments)))
    assert done.exit_code == 0, done.output
    return done.output


def test_mass_from_python() -> None:
    assert gleg.mass(PROBLEM) == pytest.approx({"u": 2 * math.pi}, abs=1e-9)
    unity = {**STATED, "fields": {"u": {**STATED["fields"]["u"], "initial": 1}}}
    assert gleg.mass(unity) == gleg.mass(gleg.load(unity)) == pytest.approx({"u": math.pi}, abs=1e-9)


def test_total_of_a_run() -> None:
    """Heat stays in a vessel without flux through its rim."""
    run = gleg.solve(PROBLEM)
    for t in run.times[[0, -1]]:
        assert run.total("u", t) == pytest.approx(2 * math.pi, rel=1e-6)


def test_mass_from_the_command_line() -> None:
    assert [line.split(maxsplit=1) for line in told("mass", PROBLEM).splitlines()] == [
        ["author", "Ada"], ["keywords", "heat, disk"], ["u", "6.28319"]
    ]  # fmt: skip
    assert "keywords none" in told("mass", PROBLEM, "--set", "notes.keywords=[]")


@pytest.mark.parametrize(
    ("notes", "message"),
    [
        ({"keywords": ["heat"]}, "notes.author"),
        ({"author": "Ada", "keywords": ["heat", "heat"]}, "'heat' is listed twice"),
        ({"author": "Ada", "editor": "Bob"}, "notes.editor: unknown key"),
    ],
)
def test_wrong_notes_are_refused(notes: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        gleg.load({**STATED, "notes": notes})


def test_vtu(somewhere: Path) -> None:
    run = gleg.solve(PROBLEM)
    run.save(somewhere / "run")
    files = sorted((somewhere / "run" / "vtu").iterdir())
    assert len(files) == len(run.times)
    piece = ElementTree.parse(files[-1]).find("UnstructuredGrid/Piece")
    assert piece is not None
    arrays = {a.get("Name"): np.array(str(a.text).split(), dtype=float) for a in piece.iter("DataArray")}
    points = arrays["points"].reshape(-1, 3)
    assert len(points) == int(piece.get("NumberOfPoints", 0)) == len(arrays["types"]) > 100
    assert np.array_equal(arrays["u"], run.evaluate("u", points[:, :2], run.times[-1]))


def test_the_check_is_run_on_components() -> None:
    registry = gleg.default_registry()
    results = run_component(registry.find("domain", "disk"), registry)
    assert [r.status for r in results if r.check == "summary-has-no-full-stop"] == ["passed"] * len(
        registry.find("domain", "disk").entry.examples
    )
    assert "A summary is no sentence (toolbox)" in told("check", "--list")


def test_the_engine_solves_all_cases(somewhere: Path) -> None:
    out = somewhere / "sweep"
    told("sweep", PROBLEM, "--vary", "time.end=0.1,0.2", "--engine", "serial", "--out", out)
    assert len((out / "table.csv").read_text(encoding="utf-8").splitlines()) == 3
