"""The command line: what each command prints and writes, and how it ends."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gleg import solve
from gleg_cli.main import main
from gleg_cli.terminal import CommandTerminal
from gleg_core import __version__
from gleg_core.pack import CONTRACT
from gleg_core.registry import default_registry

TINY = """\
# A bump that decays, with its exact solution.
# Two lines of comment.
title: tiny
domain: {kind: disk, radius: 0.6}
basis: {kind: fourier, K: 6}
constants: {D: 0.1}
fields:
  u:
    exact: exp(-t)*(0.36 - x^2 - y^2)
    forcing: manufactured
    boundary: [{kind: dirichlet}]
    equation: [{block: diffusion, coefficient: D}]
time: {end: 0.1, step: 0.025}
output: {frames: 4, grid: 15, pictures: false, probes: [[0, 0.1], [0.2, -0.1]]}
"""


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


def gleg(*arguments: str) -> Outcome:
    """The command in this process."""
    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["gleg", *arguments]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.argv = before
    return Outcome(code, out.getvalue(), err.getvalue())


def good(*arguments: str) -> str:
    outcome = gleg(*arguments)
    assert outcome.code == 0 and outcome.err == "", outcome
    return outcome.out


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GLEG_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.yaml").write_text(TINY, encoding="utf-8")
    return tmp_path


# --- commands that only tell ----------------------------------------------------------------------------------------

COMMANDS = [
    *("blocks", "doctor", "examples", "lock", "packs", "resolve", "run", "schema", "search", "train", "validate")
]  # fmt: skip


def test_help_names_every_command() -> None:
    for flag in ("--help", "-h"):
        text = good(flag)
        assert [word for word in COMMANDS if re.search(rf"^  {word} ", text, re.MULTILINE)] == COMMANDS
    assert good("--help").startswith("Usage:") and "130 interrupted" in good("--help")


@pytest.mark.parametrize(
    "command", [*([c] for c in COMMANDS), ["examples", "list"], ["examples", "copy"], ["examples", "run"]]
)
def test_every_command_has_help(command: list[str]) -> None:
    text = good(*command, "--help")
    assert len(text.splitlines()) > 4 and "Show this message" in text


def test_version() -> None:
    assert good("--version") == good("-V") == f"gleg, version {__version__}\n"


def test_packs_are_listed() -> None:
    text = good("packs")
    for pack in default_registry().packs:
        assert f"{pack.id}  {pack.distribution} {pack.version}" in text
    assert re.search(r"^  block +diffusion +Δu$", text, re.MULTILINE)
    assert "\x1b" not in text, "no colours in a pipe"


def test_packs_as_json() -> None:
    data = json.loads(good("packs", "--json"))
    assert set(data) == {"packs", "failures"}
    by_id = {p["id"]: p for p in data["packs"]}
    assert by_id["bc"]["distribution"] == "gleg-bc" and by_id["bc"]["contract"] == list(CONTRACT)
    assert by_id["bc"]["entries"]["boundary"]["dirichlet"] == "u = g"


def test_long_lines_are_wrapped_under_themselves_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    cells, words = (
        [("", 1), ("block", 10), ("name", 20)],
        "several words that do not fit on one line of a terminal, surely",
    )
    assert CommandTerminal().columns(cells, words) == f"  block      name                 {words}"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "60")
    lines = CommandTerminal().columns(cells, words).splitlines()
    assert len(lines) > 1 and all(len(line) <= 60 for line in lines)
    assert all(line.startswith(" " * 34) for line in lines[1:])


def test_validate() -> None:
    assert good("validate", "tiny.yaml") == "tiny.yaml: valid. 2D domain 'domains:disk', fields u.\n"


def test_resolve_prints_a_problem_file(folder: Path) -> None:
    text = good("resolve", "tiny.yaml", "--set", "constants.D=0.25")
    assert text.startswith("# resolved by gleg; packs used:\n") and "D: 0.25" in text
    (folder / "resolved.yaml").write_text(text, encoding="utf-8")
    assert good("resolve", "resolved.yaml") == text
    assert "valid" in good("validate", "resolved.yaml")


def test_schema_is_json() -> None:
    assert json.loads(good("schema"))["properties"].keys() >= {"domain", "fields", "time"}


def test_doctor_says_how_things_are() -> None:
    outcome = gleg("doctor")
    assert (
        f"gleg-core {__version__}" in outcome.out and "products of matrices" in outcome.out and "cache" in outcome.out
    )
    assert ("all is well" in outcome.out) == (outcome.code == 0)
    assert ("BAD" in outcome.out) == (outcome.code == 1)


# --- examples -------------------------------------------------------------------------------------------------------


@pytest.fixture
def shipped(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples as the distribution gleg installs them."""
    (folder / "site" / "gleg_examples").mkdir(parents=True)
    (folder / "site" / "gleg_examples" / "tiny-decay.yaml").write_text(TINY, encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder / "site"))


@pytest.mark.usefixtures("shipped")
def test_examples_are_listed_copied_and_run(folder: Path) -> None:
    assert good("examples", "list") == (
        "tiny-decay               A bump that decays, with its exact solution. Two lines of comment.\n"
    )
    assert good("examples", "copy", "tiny-decay") == "wrote tiny-decay.yaml\n"
    assert (folder / "tiny-decay.yaml").read_text(encoding="utf-8") == TINY
    assert "exists already" in gleg("examples", "copy", "tiny-decay").err
    assert gleg("examples", "copy", "tiny-decay", "absent/x.yaml").code == 6
    good("examples", "run", "tiny-decay", "--quiet", "--set", "time.end=0.05")
    assert json.loads((folder / "tiny-decay-run" / "metrics.json").read_text())["rollout"]["t"] == 0.05


@pytest.mark.usefixtures("shipped")
def test_an_example_that_is_not_there() -> None:
    outcome = gleg("examples", "run", "tiny-decoy")
    assert outcome.code == 2 and "Did you mean 'tiny-decay'?" in outcome.err


def test_the_examples_of_this_repository_are_found() -> None:
    assert "mms-1-rosette" in good("examples", "list")


# --- run ------------------------------------------------------------------------------------------------------------


def files(folder: Path) -> set[str]:
    return {p.name for p in folder.iterdir()}


DATA = {"metrics.json", "result.nc", "spec.resolved.yaml"}


def test_run_writes_one_folder(folder: Path) -> None:
    before = files(folder)
    out = good("run", "tiny.yaml")
    assert files(folder) - before == {"tiny-run"} and files(folder / "tiny-run") == DATA
    stages = [line.split()[0] for line in out.splitlines()]
    assert stages[:4] == ["domain", "space", "system", "rollout"]
    assert "wrote    tiny-run/: metrics.json  result.nc  spec.resolved.yaml" in out
    assert "\x1b" not in out and "\r" not in out, "no bar and no colours in a pipe"
    assert max(map(len, out.splitlines())) <= 100


def test_what_metrics_say(folder: Path) -> None:
    good("run", "tiny.yaml", "--quiet")
    metrics = json.loads((folder / "tiny-run" / "metrics.json").read_text(encoding="utf-8"))
    expected = {"title", "relative_l2", "boundary_residual", "space", "fields", "rollout", "timing", "versions"}
    assert set(metrics) >= expected
    assert set(metrics["relative_l2"]) == {"final", "mean", "max"} and metrics["relative_l2"]["max"] < 1e-3
    assert metrics["rollout"]["steps"] == 4 and metrics["rollout"]["interrupted"] is False
    assert metrics["rollout"]["t"] == pytest.approx(0.1)
    assert set(metrics["timing"]) >= {"validate", "domain", "space", "system", "rollout"}
    field = metrics["fields"]["u"]
    assert set(field) == {"relative_l2", "boundary_residual", "invariants", "space"}
    assert len(field["relative_l2"]["history"]) == 5 == len(field["invariants"]["mass"])
    assert field["boundary_residual"]["relative"] < 1e-10


def test_the_dataset_opens_in_xarray(folder: Path) -> None:
    import numpy as np
    import xarray

    good("run", "tiny.yaml", "--quiet")
    with xarray.open_dataset(folder / "tiny-run" / "result.nc") as data:
        assert data["u"].dims == ("time", "y", "x") and data["u"].shape == (5, 15, 15)
        assert data["time"].values == pytest.approx(np.linspace(0, 0.1, 5))
        assert {"node_x", "node_y", "node_weight", "probe_x", "probe_y"} <= set(data.coords)
        assert float(data["node_weight"].sum()) == pytest.approx(np.pi * 0.36)
        exact = np.exp(-0.1) * (0.36 - data["node_x"] ** 2 - data["node_y"] ** 2)
        assert np.abs(data["u_nodes"][-1] - exact).max() < 1e-3
        assert data["u_probes"].shape == (5, 2) and float(data["u_probes"][0, 0]) == pytest.approx(0.35, abs=1e-3)
        assert np.isnan(data["u"].values[0, 0, 0]) and np.isfinite(data["u"].values[:, 7, 7]).all()
        assert data.attrs["title"] == "tiny" and data.attrs["interrupted"] == 0
        assert "kind: domains:disk" in data.attrs["spec"]


def test_the_file_is_the_one_that_xarray_would_write(folder: Path) -> None:
    import xarray

    run = solve("tiny.yaml")
    run.save("tiny-run")
    run.dataset.to_netcdf("theirs.nc", engine="h5netcdf")
    ours, theirs = (xarray.load_dataset(path, engine="h5netcdf") for path in ("tiny-run/result.nc", "theirs.nc"))
    xarray.testing.assert_identical(ours, run.dataset)
    for name in theirs.variables:
        a, b = ({k: v for k, v in data[name].encoding.items() if k != "source"} for data in (ours, theirs))
        assert str(a) == str(b)  # as text: a fill value that is not a number does not equal itself


def test_pictures_movie_settings_and_target(folder: Path) -> None:
    out = good(
        "run", "tiny.yaml", "--movie", "--out", "deep/er", "--set", "output.pictures=true", "--set", "output.frames=2"
    )
    pictures = {"fields.png", "histories.png", "probes.png", "estimate.png", "movie.gif"}
    assert files(folder / "deep" / "er") == DATA | pictures
    assert all((folder / "deep" / "er" / name).stat().st_size > 1000 for name in pictures)
    assert "next     open deep/er/fields.png" in out


def test_no_folder_is_made_for_a_run_that_fails(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (
        gleg(
            "run", "tiny.yaml", "--out", "deep/er/out", "--set", "time.integrator=rk4", "--set", "fields.u.exact=log(x)"
        ).code
        == 5
    )
    assert files(folder) == {"tiny.yaml"}

    def full(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("gleg_results.folder._fill", full)
    outcome = gleg("run", "tiny.yaml", "--out", "deep/er/out", "--quiet")
    assert outcome.code == 6 and "No space left on device. Nothing was left behind" in outcome.err
    assert files(folder) == {"tiny.yaml"}


def test_an_exact_solution_that_ends_before_the_run(folder: Path) -> None:
    settings = ["--set", "fields.u.exact=(0.36 - x^2 - y^2)*sqrt(0.06 - t)", "--set", "fields.u.forcing=none"]
    outcome = gleg("run", "tiny.yaml", "--quiet", *settings, "--set", "output.pictures=true")
    assert outcome.code == 0 and outcome.out == ""
    assert outcome.err == (
        "warning: tiny.yaml: fields.u.exact (set from outside): not finite at t = 0.075, "
        "so the error of 'u' is not known there\n"
    )

    def refuse(word: str) -> None:
        raise AssertionError(word)

    text = (folder / "tiny-run" / "metrics.json").read_text(encoding="utf-8")
    metrics = json.loads(text, parse_constant=refuse)
    history = metrics["fields"]["u"]["relative_l2"]["history"]
    assert [e is None for e in history] == [False, False, False, True, True]
    assert metrics["relative_l2"] == {"final": None, "mean": None, "max": None}


@pytest.mark.parametrize(
    "setting",
    [{"time": {"step": 0.1, "integrator": "rk4"}, "basis": {"K": 16}}, {"fields": {"u": {"exact": "log(x)"}}}],
)
def test_solve_says_what_the_command_says(setting: dict[str, Any], folder: Path) -> None:
    from gleg import GlegError, solve

    with pytest.raises(GlegError) as failure:
        solve("tiny.yaml", **setting)
    words = [f"{'.'.join(place)}={value}" for place, value in leaves(setting)]
    outcome = gleg("run", "tiny.yaml", "--quiet", *(part for word in words for part in ("--set", word)))
    assert (outcome.code, outcome.err) == (failure.value.exit_code, f"{failure.value}\n")
    assert outcome.err.startswith("tiny.yaml: ")


def leaves(data: dict[str, Any], place: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    return [
        leaf
        for key, value in data.items()
        for leaf in (leaves(value, (*place, key)) if isinstance(value, dict) else [((*place, key), value)])
    ]


def test_a_resolved_problem_finds_its_files_from_the_run_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corners = [[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5], [-0.5, -0.5]]
    (folder / "pond.geojson").write_text(json.dumps({"type": "Polygon", "coordinates": [corners]}))
    text = TINY.replace("{kind: disk, radius: 0.6}", "{kind: geojson, path: pond.geojson}")
    (folder / "pond.yaml").write_text(text + "\nunresolved: ignore\n")
    good("run", "pond.yaml", "--quiet")
    assert "valid" in good("validate", "pond-run/spec.resolved.yaml")
    monkeypatch.chdir(folder / "pond-run")
    assert "valid" in good("validate", "spec.resolved.yaml")


def test_an_earlier_run_is_replaced_and_nothing_else(folder: Path) -> None:
    good("run", "tiny.yaml", "--quiet", "--out", "out")
    (folder / "out" / "movie.gif").write_text("left from the earlier run")
    (folder / "out" / "notes.txt").write_text("the user's own")
    good("run", "tiny.yaml", "--quiet", "--out", "out", "--set", "time.end=0.05")
    assert files(folder / "out") == DATA | {"notes.txt"}
    assert json.loads((folder / "out" / "metrics.json").read_text())["rollout"]["t"] == 0.05
    assert files(folder) == {"tiny.yaml", "out"}


def test_a_run_may_start_late(folder: Path) -> None:
    out = good("run", "tiny.yaml", "--set", "time.start=0.05", "--set", "output.frames=1")
    metrics = json.loads((folder / "tiny-run" / "metrics.json").read_text())
    assert metrics["fields"]["u"]["relative_l2"]["times"] == pytest.approx([0.05, 0.1])
    assert metrics["rollout"]["steps"] == 2 and "rollout  2 steps of at most 0.025 to t = 0.1" in out


def test_quiet_is_quiet() -> None:
    assert gleg("run", "tiny.yaml", "--quiet") == Outcome(0, "", "")


def test_a_title_with_brackets_is_no_markup(folder: Path) -> None:
    good("run", "tiny.yaml", "--set", "title=a [red]b[/] c", "--out", "a [bold]b")
    assert (folder / "a [bold]b" / "metrics.json").exists()


def test_an_internal_error_is_short_and_can_be_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: Any) -> None:
        raise AssertionError("surprise")

    monkeypatch.setattr("gleg_core.spec.problem.load_problem", broken)
    outcome = gleg("validate", "tiny.yaml")
    assert outcome.code == 70 and "AssertionError: surprise" in outcome.err and "GLEG_DEBUG=1" in outcome.err
    monkeypatch.setenv("GLEG_DEBUG", "1")
    with pytest.raises(AssertionError):
        gleg("validate", "tiny.yaml")


def test_an_error_of_the_system_is_told_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: Any) -> None:
        raise PermissionError(13, "Permission denied", "/somewhere")

    monkeypatch.setattr("gleg_results.replaced_folder.check_target", broken)
    assert gleg("run", "tiny.yaml", "--quiet") == Outcome(6, "", "/somewhere: Permission denied\n")


# --- processes of their own -----------------------------------------------------------------------------------------


def start(arguments: Sequence[str], **options: Any) -> subprocess.Popen[str]:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-m", "gleg_cli", *arguments], **{**pipes, **options})


def test_ctrl_c_keeps_what_was_reached(folder: Path) -> None:
    import xarray

    settings = ["--set", "time.step=1e-6", "--set", "time.end=10", "--set", "output.frames=100000"]
    process = start(["run", "tiny.yaml", *settings])
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("system"):
            break
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130 and err == "", err
    assert "interrupted at t = " in out and "wrote    tiny-run/" in out
    metrics = json.loads((folder / "tiny-run" / "metrics.json").read_text())
    assert metrics["rollout"]["interrupted"] is True and 0 < metrics["rollout"]["t"] < 10
    with xarray.open_dataset(folder / "tiny-run" / "result.nc") as data:
        assert data.attrs["interrupted"] == 1
        assert float(data["time"][-1]) == pytest.approx(metrics["rollout"]["t"])
        assert len(data["time"]) == len(metrics["fields"]["u"]["relative_l2"]["history"]) >= 2
    assert files(folder) == {"tiny.yaml", "tiny-run"}


def test_ctrl_c_before_the_rollout_writes_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def pressed(*arguments: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("gleg_core.solver.discretise", pressed)
    outcome = gleg("run", "tiny.yaml", "--quiet")
    assert outcome.code == 130 and outcome.err.strip() == "interrupted; nothing was written"
    assert files(folder) == {"tiny.yaml"}


def test_a_pipe_that_is_closed_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    process = start(["schema"], stdout=writer)
    os.close(writer)
    assert process.communicate(timeout=60)[1] == "" and process.returncode == 1


LIGHT = """
import sys
from gleg_cli.main import main
sys.argv = ["gleg", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(*sorted({"torch", "matplotlib", "xarray", "rich"} & set(sys.modules)), file=sys.stderr)
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["packs"],
        ["examples", "list"],
        ["validate", "tiny.yaml"],
        ["resolve", "tiny.yaml"],
        ["schema"],
    ],
    ids=" ".join,
)
def test_light_commands_import_nothing_heavy(arguments: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", LIGHT, *arguments], capture_output=True, text=True, check=True)
    assert done.stderr.split() == []


def test_a_run_without_pictures_imports_nothing_but_torch_that_takes_long(folder: Path) -> None:
    others = '{"matplotlib", "xarray", "pandas", "dask", "scipy.stats", "scipy.spatial"}'
    program = LIGHT.replace('{"torch", "matplotlib", "xarray", "rich"}', others)
    assert others in program
    arguments = [sys.executable, "-c", program, "run", "tiny.yaml", "--quiet"]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert done.stderr.split() == []


PARAMS = """
import sys
from gleg_core.pack import CONTRACTS
from gleg_core.registry import default_registry

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ImportError("torch is not needed to check a problem file")

sys.meta_path.insert(0, NoTorch())
registry = default_registry()
for contract in CONTRACTS:
    for key, component in registry.entries(contract).items():
        try:
            registry.params(component)
        except Exception as error:
            print(component.entry.params.partition(":")[0])
"""


def test_parameters_of_packs_are_checked_without_torch() -> None:
    done = subprocess.run([sys.executable, "-c", PARAMS], capture_output=True, text=True, check=True)
    assert sorted(set(done.stdout.split())) == []


def test_a_constant_the_file_does_not_have_is_not_set_silently() -> None:
    outcome = gleg("validate", "tiny.yaml", "--set", "constants.D_=2")
    assert outcome.code == 2
    assert "there is no constant 'D_' to replace" in outcome.err
    good("validate", "tiny.yaml", "--set", "constants.D=2")
    good("validate", "tiny.yaml", "--set", "constants.new=2", "--set", "fields.u.initial=new*x")
