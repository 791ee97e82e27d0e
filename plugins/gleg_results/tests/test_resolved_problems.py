"""Problems as they are resolved, with every default filled in, and as they are set on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from gleg_core.spec.loading import Document
from gleg_core.spec.problem import components, load_problem
from gleg_results.resolved import provenance, resolved, resolved_yaml
from gleg_results.settings import load_value, parse_setting, with_settings

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.yaml"))
YAML = """\
title: Two fields
domain: {kind: disk, radius: 0.6}
basis: {kind: fourier, K: 6}
constants: {D: 1e-3, k: 2*pi, half: .5, many: 1_000}
formulas:
  bump: exp(-k*(x^2 + y^2))
  twice: 2*bump
fields:
  u:
    initial: bump
    boundary: [{kind: robin, kappa: half, value: t}]
    equation:
      - {block: diffusion, coefficient: D}
      - {block: product, powers: {u: 2, v: 1}, coefficient: -1}
  v:
    exact: twice*cos(t)
    boundary: [{kind: dirichlet, where: all, data: exact}]
    equation: [{block: diffusion, coefficient: 2*D}]
time: {end: 0.1, step: 0.05}
output: {frames: 2, grid: 21, pictures: false}
"""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def data() -> dict[str, Any]:
    return load_value(YAML, "problem")


def test_defaults_are_filled_in() -> None:
    short = {
        "domain": {"kind": "disk", "radius": 1},
        "fields": {"u": {"initial": 1, "boundary": [{"kind": "neumann"}], "equation": [{"block": "diffusion"}]}},
        "time": {"end": 1},
    }
    full = resolved(load_problem(short))
    assert full["basis"]["kind"] == "fourier:fourier"
    assert full["time"]["integrator"]["kind"] == "integrators:exponential-collocation"  # the step is auto
    assert full["fields"]["u"]["boundary"] == [{"kind": "bc:neumann", "value": 0.0, "where": "all", "data": "given"}]
    assert full["fields"]["u"]["equation"] == [{"block": "diffusion:diffusion", "twin": "learned", "coefficient": 1.0}]
    assert full["time"] | {"integrator": ""} == {
        "end": 1,
        "start": 0,
        "step": "auto",
        "tolerance": 1e-6,
        "stops": [],
        "integrator": "",
    }
    assert full["output"]["frames"] == 20 and full["space"]["box"] == "auto"
    assert "title" not in full and "constants" not in full


SQUARE = {
    "fields": {
        "u": {
            "boundary": [{"kind": "clamped"}],
            "equation": [
                {"square": [{"block": "diffusion"}, {"block": "power", "coefficient": "half"}], "coefficient": -1}
            ],
        }
    },
    "time": {"integrator": {"kind": "etdrk4", "scheme": "krogstad"}},
    "space": {"box": [[-1, 1], [-1, "half + 0.5"]], "rotate": False},
    "output": {"probes": [[0, "half/5"]]},
}


@pytest.mark.parametrize("overrides", [{}, SQUARE, {"space": {"rotate": 0.3}, "constants": {"D": "1/3"}}])
def test_a_resolved_problem_resolves_to_itself(overrides: dict[str, Any], tmp_path: Path) -> None:
    once = resolved_yaml(load_problem(data(), overrides))
    path = write(tmp_path, "resolved.yaml", once)
    assert resolved_yaml(load_problem(path)) == once
    assert "diffusion: gleg-blocks-diffusion" in once.splitlines()[2]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples_are_valid_and_resolve_to_themselves(path: Path, tmp_path: Path) -> None:
    problem = load_problem(path)
    once = resolved_yaml(problem)
    again = load_problem(write(path.parent if "path:" in once else tmp_path, "resolved.yaml", once))
    assert resolved_yaml(again) == once
    assert {f.name for f in problem.fields} == {f.name for f in again.fields}


def test_a_resolved_problem_follows_its_constants() -> None:
    full = resolved(load_problem(data()))
    changed = load_problem(full, {"constants": {"D": 7}})
    assert [f.terms[0].section.coefficient.number for f in changed.fields] == [7, 14]


def test_a_resolved_problem_gives_the_same_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLEG_CACHE", str(tmp_path / "cache"))
    from gleg import solve

    problem = load_problem(data())
    first, second = solve(problem), solve(write(tmp_path, "again.yaml", resolved_yaml(problem)))
    assert first.trajectory.steps == second.trajectory.steps
    for name in ("u", "v"):
        a, b = (run.dataset[f"{name}_nodes"].values for run in (first, second))
        assert a == pytest.approx(b, rel=1e-9, abs=1e-12)


def test_provenance_names_every_pack_that_is_used() -> None:
    problem = load_problem(data())
    facts = provenance(problem)
    assert (
        set(facts) == {c.installed.pack.id for c in components(problem)} >= {"bc", "domains", "fourier", "polynomial"}
    )
    assert all(len(f["hash"]) == 16 and f["version"] for f in facts.values())


def test_yaml_of_a_resolved_problem_is_ordinary_yaml() -> None:
    text = resolved_yaml(load_problem(data()))
    assert yaml.safe_load(text)["constants"]["D"] == 1e-3


# --- settings -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "place", "value"),
    [("constants.D=0.1", ("constants", "D"), 0.1), ("title=a b = c", ("title",), "a b = c"), ("a.b.c=1e-3", ("a", "b", "c"), 1e-3),
     ("output.probes=[[0, 0.1]]", ("output", "probes"), [[0, 0.1]]), ("output.movie=true", ("output", "movie"), True),
     ("fields.u.equation[0].coefficient=2*D", ("fields", "u", "equation", 0, "coefficient"), "2*D"), ("a[1][2]=", ("a", 1, 2), None),
     ("domain={kind: disk, radius: 1}", ("domain",), {"kind": "disk", "radius": 1})],
)  # fmt: skip
def test_settings_of_the_command_line(text: str, place: tuple[str | int, ...], value: Any) -> None:
    assert parse_setting(text) == (place, value)


def test_settings_reach_items_of_lists() -> None:
    document = with_settings(Document(data()), ["fields.u.equation[0].coefficient=7", "constants.D=3"])
    problem = load_problem(document)
    first, second = problem.fields[0].terms
    assert first.section.coefficient.number == 7 and second.section.coefficient.number == -1
    assert document.locate(("constants", "D")) == "problem: constants.D (set from outside)"
    assert "set from outside" not in document.locate(("constants", "half"))
