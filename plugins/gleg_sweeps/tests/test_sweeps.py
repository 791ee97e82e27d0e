"""Sweeps: the values of a key, all cases checked before any runs, going on after a kill, and what is written."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import exp, pi
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import xarray
from scipy.special import j1

from gleg import load as load_problem
from gleg import solve
from gleg_cli.main import gleg as command_line
from gleg_core.errors import GlegError
from gleg_core.spec.loading import load_document
from gleg_core.system.discretise import discretise
from gleg_sweeps import local
from gleg_sweeps.cases import Case, Plan, plan_sweep
from gleg_sweeps.outcome import Outcome, solve_case
from gleg_sweeps.picture import draw, geometric
from gleg_sweeps.table import as_dataset, rows
from gleg_sweeps.values import parse_variation

J01 = 2.404825557695773
HEAT = """\
title: heat
domain: {kind: disk, radius: 0.6}
basis: {kind: fourier, K: 6}
constants: {D: 0.1, j01: 2.404825557695773}
fields:
  u:
    exact: besselj0(j01*sqrt(x^2 + y^2)/0.6)*exp(-D*(j01/0.6)^2*t)
    boundary: [{kind: dirichlet}]
    equation: [{block: diffusion, coefficient: D}]
time: {end: 0.1, step: 0.05}
output: {frames: 2, grid: 15, pictures: false}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GLEG_CACHE", str(tmp_path / "spaces"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "heat.yaml").write_text(HEAT, encoding="utf-8")
    return tmp_path


def sweep(*arguments: str) -> int:
    """``gleg sweep heat.yaml …`` in this process; its exit status."""
    with pytest.raises(SystemExit) as end:
        command_line(["sweep", "heat.yaml", *arguments], standalone_mode=False)
    return int(end.value.code or 0)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> list[Case]:
    """Cases are solved in this process, which saves the start of others; the list is of those that were solved."""
    solved: list[Case] = []

    def run_cases(cases: Sequence[Case], runs: Path | None, jobs: int) -> Iterator[tuple[Case, Outcome]]:
        for case in cases:
            solved.append(case)
            yield case, solve_case(case, runs)

    monkeypatch.setattr(local, "run_cases", run_cases)
    return solved


def table(out: str = "heat-sweep") -> list[dict[str, str]]:
    with (Path(out) / "table.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def plan(*varied: str, zipped: bool = False, settings: Sequence[str] = ()) -> Plan:
    return plan_sweep(load_document("heat.yaml"), settings, [parse_variation(v) for v in varied], zipped)


# --- values ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("10,14,18", [10, 14, 18]),
        ("auto, 0.1", ["auto", 0.1]),
        ("1e-3,1e-4", [1e-3, 1e-4]),
        ("diffusion:diffusion,power", ["diffusion:diffusion", "power"]),
        ("[-1,1],[[-1,1],[-2,2]]", [[-1, 1], [[-1, 1], [-2, 2]]]),
        ("sin(x),max(x,y)", ["sin(x)", "max(x,y)"]),
        ("0.2:2:4", np.linspace(0.2, 2, 4)),
        ("linspace(1,-1,5)", np.linspace(1, -1, 5)),
        ("logspace(-3,-1,40)", np.logspace(-3, -1, 40)),
        ("logspace(-3,-1,1)", [1e-3]),
        ("range(10,24,4)", [10, 14, 18, 22]),
        ("range(0,1,0.1)", np.arange(10) / 10),
        ("range(3,0,-1)", [3, 2, 1]),
        ("0,logspace(0,2,3),range(200,202)", [0, 1, 10, 100, 200, 201]),
    ],
)
def test_values(text: str, values: Sequence[Any]) -> None:
    found = parse_variation(f"basis.K={text}").values
    numbers = all(isinstance(v, int | float) for v in found)
    assert found == (pytest.approx(list(values), rel=1e-14) if numbers else values)


def test_whole_numbers_stay_whole() -> None:
    """basis.K takes no 10.5, and a table of K reads better without points."""
    assert parse_variation("basis.K=10:22:4").texts == ("10", "14", "18", "22")
    assert parse_variation("basis.K=10:20:4").texts[0] == "10.0"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("basis.K", "write key=values"),
        ("basis.K=", "write key=values"),
        ("=3", "write key=values"),
        ("basis..K=3", "--vary basis..K=3: write key=value"),
        ("basis.K=1,,2", "nothing between two commas"),
        ("basis.K=1,0,0", "the value 0 is there twice"),
        ("basis.K=10,10.0", "the value 10.0 is there twice"),
        ("basis.K=linspace(1,2", "a bracket is not closed"),
        ("basis.K=logspace(1,2)", "needs a start, a stop and how many"),
        ("basis.K=0:1:2.5", "needs a start, a stop and how many"),
        ("basis.K=0:1:many", "'0:1:many' needs numbers, found 'many'"),
        ("basis.K=logspace(1,999,2)", "too large"),
        ("basis.K=range(1,0)", "has 0 values"),
        ("basis.K=range(0,1,1e-9)", "1,000,000,000 values"),
        ("basis.K=range(0,1,0)", "not zero"),
    ],
)
def test_values_that_are_none(text: str, complaint: str) -> None:
    with pytest.raises(GlegError, match=r"^--vary ") as failure:
        parse_variation(text)
    assert complaint in str(failure.value) and failure.value.exit_code == 2


# --- cases ----------------------------------------------------------------------------------------------------------


def test_product_and_zip() -> None:
    keys = ("basis.K=4,6,8", "constants.D=0.1,0.2,0.3")
    crossed, together = plan(*keys), plan(*keys, zipped=True)
    assert crossed.shape == (3, 3) and len({c.digest for c in crossed.cases}) == 9
    assert crossed.cases[1].settings == ("basis.K=4", "constants.D=0.2")
    assert [c.settings for c in together.cases] == [
        ("basis.K=4", "constants.D=0.1"), ("basis.K=6", "constants.D=0.2"), ("basis.K=8", "constants.D=0.3")
    ]  # fmt: skip
    problem = load_problem(crossed.cases[5].document)
    assert problem.section.constants["D"] == 0.3 and problem.basis.dump()["K"] == 6


def test_one_of_each_space_goes_first() -> None:
    order = [c.settings[0] for c in plan("basis.K=4,6,8", "constants.D=0.1,0.2").in_order()]
    assert order == ["basis.K=4", "basis.K=6", "basis.K=8"] * 2


@pytest.mark.parametrize(
    ("varied", "complaints"),
    [
        (["basis.K=4,-1,5"], ["basis.K (set from outside): found -1", "in the case basis.K=-1", "1 of 3 cases"]),
        (["basis.L=4"], ["basis.L", "unknown key. Allowed: K"]),
        (["constants.DD=1,2", "basis.K=4,5"], ["there is no constant 'DD'", "Did you mean 'D'?"]),
        (["fields.u.equation[3].coefficient=1"], ["--vary fields.u.equation[3].coefficient=1: there is no"]),
        (["domain.kind=disk,dusk"], ["'dusk'", "in the case domain.kind=dusk"]),
        (["basis.K=1", "basis.K=2"], ["varied twice"]),
        (["basis.K=range(1,999)", "constants.D=range(1,999)"], ["996,004 cases are more than"]),
    ],
)
def test_mistakes_are_told_before_anything_runs(
    varied: list[str], complaints: list[str], here: list[Case], folder: Path
) -> None:
    with pytest.raises(GlegError) as failure:
        command_line(["sweep", "heat.yaml", *(w for v in varied for w in ("--vary", v))], standalone_mode=False)
    assert failure.value.exit_code == 2
    for complaint in complaints:
        assert complaint in str(failure.value)
    assert here == [] and not (folder / "heat-sweep").exists()


def test_zip_needs_equal_lengths() -> None:
    with pytest.raises(GlegError, match=r"equally many values: basis\.K has 2, constants\.D has 3"):
        plan("basis.K=4,6", "constants.D=1,2,3", zipped=True)


def test_a_file_the_problem_names_is_part_of_the_case(folder: Path) -> None:
    def digest(size: float) -> str:
        corners = [[-size, -size], [size, -size], [size, size], [-size, size], [-size, -size]]
        (folder / "pond.geojson").write_text(json.dumps({"type": "Polygon", "coordinates": [corners]}))
        (case,) = plan("basis.K=4", settings=["domain={kind: geojson, path: pond.geojson}"]).cases
        return case.digest

    assert digest(0.5) == digest(0.5) != digest(0.4)


# --- what is written ------------------------------------------------------------------------------------------------


def test_errors_fall_spectrally_in_every_output(here: list[Case]) -> None:
    """Heat on a disk against its Bessel mode; masses against ∫J₀(j₀₁s/R) = 2πR²J₁(j₀₁)/j₀₁."""
    assert sweep("--vary", "basis.K=4,6,8", "--vary", "constants.D=0.1,0.2", "--quiet") == 0
    with xarray.open_dataset("heat-sweep/sweep.nc") as data:
        errors = data["error_final"]
        assert errors.dims == ("basis.K", "constants.D") and errors.shape == (3, 2)
        assert (errors.values[1:] < errors.values[:-1] / 15).all() and (errors.values[-1] < 5e-7).all()
        for D in (0.1, 0.2):
            mass = 2 * pi * 0.36 * j1(J01) / J01 * exp(-D * (J01 / 0.6) ** 2 * 0.1)
            assert float(data["u_mass"].sel({"basis.K": 8, "constants.D": D})) == pytest.approx(mass, rel=1e-6)
        assert (np.diff(data["r"].values, axis=0) > 0).all() and (data["steps"] == 2).all()
        assert set(data["failure"].values.ravel()) == {""}
        alone = solve("heat.yaml", basis={"K": 6}, constants={"D": 0.2}).metrics
        same = data.sel({"basis.K": 6, "constants.D": 0.2})
        assert float(same["error_max"]) == pytest.approx(alone["relative_l2"]["max"], rel=1e-6)
        assert float(same["nodes"]) == alone["fields"]["u"]["space"]["quadrature_nodes"]
        in_table = [[float(row["error_final"]) for row in table()[2 * i : 2 * i + 2]] for i in range(3)]
        assert in_table == errors.values.tolist()
    assert [(row["basis.K"], row["constants.D"]) for row in table()][:3] == [("4", "0.1"), ("4", "0.2"), ("6", "0.1")]
    assert Path("heat-sweep/sweep.png").read_bytes().startswith(b"\x89PNG")
    assert len(list(Path("heat-sweep/cases").iterdir())) == 6


def made_up(shown: Plan, error: Callable[..., float] | None) -> xarray.Dataset:
    """The dataset of a sweep with invented errors, a function of the varied values."""
    metrics = solve_case(shown.cases[0], None)["metrics"]
    assert metrics is not None
    results = {}
    for case in shown.cases:
        changed = {k: v for k, v in metrics.items() if k != "relative_l2"}
        if error is not None:
            e = error(*(float(word.partition("=")[2]) for word in case.settings))
            changed["relative_l2"] = {"final": e, "mean": e, "max": e}
        results[case.digest] = Outcome(case=list(case.settings), metrics=changed, failure="", code=0)
    return as_dataset(shown, rows(shown, results), "a title")


def test_a_picture_has_a_curve_per_value_of_the_second_key() -> None:
    shown = plan("time.step=0.04,0.02,0.01,0.005", "basis.K=4,6")
    (ax,) = draw(shown, made_up(shown, lambda h, K: h**4 / K)).axes
    assert (ax.get_xlabel(), ax.get_xscale(), ax.get_yscale()) == ("time.step", "log", "log")
    assert [line.get_label() for line in ax.lines] == ["basis.K = 4", "basis.K = 6"]
    for line, K in zip(ax.lines, (4, 6), strict=True):
        h, e = np.array(line.get_data(), dtype=float)
        assert h.tolist() == [0.005, 0.01, 0.02, 0.04] and e == pytest.approx(h**4 / K)


def test_a_picture_of_many_values_of_two_keys_is_a_map() -> None:
    shown = plan("constants.D=logspace(-3,-1,9)", "constants.j01=1:2:8")
    axes = draw(shown, made_up(shown, lambda D, j: D * j)).axes
    assert len(axes) == 2 and (axes[0].get_xscale(), axes[0].get_yscale()) == ("log", "linear")
    (mesh,) = axes[0].collections
    assert np.asarray(mesh.get_array()) == pytest.approx(np.outer(np.linspace(1, 2, 8), np.logspace(-3, -1, 9)))


def test_a_picture_without_errors_shows_masses_over_words() -> None:
    shown = plan("space.lift=steady,mass-minimal,minimum-norm")
    (ax,) = draw(shown, made_up(shown, None)).axes
    assert ax.get_ylabel() == "∫ u at the end" and ax.get_yscale() == "linear"
    assert [label.get_text() for label in ax.get_xticklabels()] == ["steady", "mass-minimal", "minimum-norm"]


@pytest.mark.parametrize(
    ("values", "logarithmic"),
    [([10, 14, 18, 22], False), ([0.01, 0.005, 0.0025], True), ([4, 6, 8, 11, 16], True), ([0, 1, 10], False), ([1, 9], False)],
)  # fmt: skip
def test_logarithmic_axes_where_sensible(values: list[float], logarithmic: bool) -> None:
    assert geometric(values) is logarithmic


def test_keys_that_walk_together_share_a_dimension(here: list[Case]) -> None:
    assert sweep("--vary", "basis.K=4,6", "--vary", "space.rank=5,auto", "--zip", "--quiet") == 0
    with xarray.open_dataset("heat-sweep/sweep.nc") as data:
        assert data["r"].dims == ("case",) and data["basis.K"].values.tolist() == [4, 6]
        assert data["space.rank"].values.tolist() == ["5", "auto"]
        assert float(data["r"][0]) == 5 < float(data["r"][1])


def test_a_case_that_fails_does_not_stop_the_others(here: list[Case], capsys: pytest.CaptureFixture[str]) -> None:
    command = ["--vary", "time.integrator=rk4,etdrk4", "--vary", "basis.K=4,8", "--quiet"]
    assert sweep(*command) == 5  # the explicit integrator needs shorter steps if K = 8
    out, err = capsys.readouterr()
    assert out == "" and "failed: time.integrator=rk4, basis.K=8: heat.yaml" in err and "1 of 4 cases failed" in err
    failures = [row["failure"] for row in table()]
    assert "longer than" in failures[1] and [bool(f) for f in failures] == [False, True, False, False]
    assert table()[1]["error_final"] == "" and float(table()[3]["error_final"]) < 1e-6
    with xarray.open_dataset("heat-sweep/sweep.nc") as data:
        assert np.isnan(data["error_final"].values).tolist() == [[False, True], [False, False]]
    assert sweep(*command) == 5 and len(here) == 4, "numbers that left the numbers would do so again"


# --- going on -------------------------------------------------------------------------------------------------------


def test_only_what_is_missing_is_run(here: list[Case], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def solved(*arguments: str) -> list[str]:
        here.clear()
        assert sweep(*arguments) == 0
        return [str(case) for case in here]

    assert solved("--vary", "basis.K=4,5") == ["basis.K=4", "basis.K=5"]
    assert solved("--vary", "basis.K=4,5,6") == ["basis.K=6"] and "3 cases, 2 there already" in capsys.readouterr().out
    damaged = next(Path("heat-sweep/cases").iterdir())
    damaged.write_text("{")
    assert len(solved("--vary", "basis.K=4,5,6")) == 1
    assert len(solved("--vary", "basis.K=4,5", "--keep-runs")) == 2, "their folders are missing"
    assert solved("--vary", "basis.K=4,5", "--keep-runs") == []
    assert {p.name for run in Path("heat-sweep/runs").iterdir() for p in run.iterdir()} >= {"metrics.json", "result.nc"}
    assert len(solved("--vary", "basis.K=4,5", "--set", "time.end=0.2")) == 2
    (folder / "heat.yaml").write_text("# only a comment\n" + HEAT, encoding="utf-8")
    assert solved("--vary", "basis.K=4,5") == []
    (folder / "heat.yaml").write_text(HEAT.replace("radius: 0.6", "radius: 0.61"), encoding="utf-8")
    assert len(solved("--vary", "basis.K=4,5")) == 2, "another problem"
    assert len(solved("--vary", "basis.K=4,5", "--fresh")) == 2
    assert len(list(Path("heat-sweep/cases").iterdir())) == 2


def test_a_folder_of_something_else_is_left_alone(here: list[Case], folder: Path) -> None:
    (folder / "mine").mkdir()
    (folder / "mine" / "notes.txt").write_text("the user's own")
    with pytest.raises(GlegError, match="not a sweep of gleg"):
        command_line(["sweep", "heat.yaml", "--vary", "basis.K=4", "--out", "mine"], standalone_mode=False)
    assert [p.name for p in (folder / "mine").iterdir()] == ["notes.txt"]


def test_a_worker_with_other_packs_is_refused() -> None:
    (case,) = plan("basis.K=4").cases
    outcome = solve_case(replace(case, packs=case.packs | {"fourier": "0.0.0"}), None)
    assert outcome["code"] == 3 and "fourier 0.0.0 → " in outcome["failure"]


# --- processes ------------------------------------------------------------------------------------------------------

SLOW = ["--vary", "constants.D=range(1,9)", "--set", "time.step=1e-4", "--set", "basis.K=8", "--jobs", "2"]
"""Eight cases of some tenths of a second."""


def start() -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "gleg_cli", "sweep", "heat.yaml", *SLOW]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def cases() -> dict[str, int]:
    return {p.name: p.stat().st_mtime_ns for p in Path("heat-sweep/cases").glob("*.json")}


def wait_until(true: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_killed_sweep_goes_on_where_it_was() -> None:
    """SIGKILL: no process stays behind, finished cases are not run again; then Ctrl-C keeps a table as well."""
    killed = start()
    wait_until(lambda: len(cases()) >= 1)
    linux = Path("/proc/self/task").is_dir()
    children = Path(f"/proc/{killed.pid}/task/{killed.pid}/children").read_text().split() if linux else []
    killed.kill()
    killed.communicate()
    wait_until(lambda: not any(alive(int(pid)) for pid in children))
    before = cases()
    assert 1 <= len(before) < 8 and not Path("heat-sweep/table.csv").exists()

    interrupted = start()
    wait_until(lambda: len(cases()) > len(before))
    interrupted.send_signal(signal.SIGINT)
    out, err = interrupted.communicate(timeout=60)
    between = cases()
    assert interrupted.returncode == 130 and "the same command goes on" in out, err
    assert len(between) < 8 and sum(row["failure"] == "not run" for row in table()) == 8 - len(between)

    assert sweep(*SLOW, "--quiet") == 0
    assert cases().items() >= between.items() >= before.items() and len(cases()) == 8
    assert [row["constants.D"] for row in table()] == [str(D) for D in range(1, 9)]
    assert {row["failure"] for row in table()} == {""}


def test_a_killed_process_costs_no_case_and_a_space_is_built_once() -> None:
    todo = plan("constants.D=range(1,9)", settings=["time.step=1e-4", "basis.K=8"]).in_order()
    outcomes, victims = {}, 0
    for case, outcome in local.run_cases(todo, None, 2):
        outcomes[case.digest] = outcome
        if not victims:
            victims = len(workers := active_children())
            os.kill(workers[-1].pid or 0, signal.SIGKILL)
    assert victims == 2 and outcomes.keys() == {c.digest for c in todo}
    metrics = [o["metrics"] for o in outcomes.values()]
    assert all(m is not None and m["relative_l2"]["final"] < 1e-6 for m in metrics)
    assert sum(not m["rollout"]["cached_space"] for m in metrics if m) <= 1
    assert active_children() == []


class Poison:
    """Ends the process that receives it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (3,)


def test_a_case_that_ends_its_process_twice_is_a_failure() -> None:
    good, bad = plan("constants.D=0.1,0.2").cases
    bad = replace(bad, document=Poison())  # type: ignore[arg-type]
    outcomes = {case.digest: outcome for case, outcome in local.run_cases([bad, good], None, 1)}
    assert outcomes[good.digest]["failure"] == ""
    assert "ended with 3, twice" in outcomes[bad.digest]["failure"] and outcomes[bad.digest]["code"] == 70


# --- the rank -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rank", [1, 5])
def test_the_constant_counts_in_the_rank(rank: int) -> None:
    changes = {"fields": {"u": {"boundary": [{"kind": "neumann"}]}}, "space": {"rank": rank}}
    space = discretise(load_problem("heat.yaml", changes)).system.fields["u"].space
    constant = space.tables(space.nodes)((0, 0))[:, :]
    ones = torch.ones(constant.shape[1], dtype=torch.float64)
    assert space.r == rank
    assert float((constant.T @ (constant * space.weights).sum(dim=1) - ones).abs().max()) < 1e-12


@pytest.mark.parametrize("rank", ["0", "2.5", "many"])
def test_a_rank_that_is_none(rank: str) -> None:
    with pytest.raises(GlegError, match=r"space\.rank"):
        plan(f"space.rank={rank}")
