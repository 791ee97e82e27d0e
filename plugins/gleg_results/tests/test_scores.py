"""``gleg score`` and reference files: what is printed and written, what is refused, where the points lie."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

import gleg as front_door
from gleg_cli.main import main
from gleg_core.registry import default_registry
from gleg_core.solver import Silent
from gleg_core.spec.problem import load_problem
from gleg_results.reference import strictly_inside
from gleg_results.score import score
from gleg_results.sections import ReferenceKey
from gleg_results.stored import load_run, stored_problem
from gleg_results.truth import independent_points

RADIUS = 0.6
TINY = """\
title: tiny
domain: {kind: disk, radius: 0.6}
basis: {kind: fourier, K: 6}
fields:
  u:
    exact: exp(-t)*(0.36 - x^2 - y^2)
    forcing: manufactured
    boundary: [{kind: dirichlet}]
    equation: [{block: diffusion, coefficient: 0.1}]
time: {end: 0.1, step: 0.025}
output: {frames: 4, grid: 15, pictures: false}
"""
MEASURED = """\
title: measured
domain: {kind: disk, radius: 0.6}
basis: {kind: fourier, K: 6}
fields:
  u:
    initial: 0.36 - x^2 - y^2
    boundary: [{kind: dirichlet}]
    equation: [{block: diffusion, coefficient: 0.1}]
time: {end: 0.1, step: 0.025}
output: {frames: 4, grid: 15, pictures: false}
reference: data/r.nc
"""


def gleg(*arguments: str) -> tuple[int, str, str]:
    """The command in this process: exit code, output, errors."""
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
    return code, out.getvalue(), err.getvalue()


def reference() -> xarray.Dataset:
    """A reference of the right form: polar points in the disk, times 0, 0.05 and 0.1."""
    s, w = np.polynomial.legendre.leggauss(20)
    radius, angle = RADIUS * (s + 1) / 2, 2 * np.pi * np.arange(32) / 32
    r, a = (m.ravel() for m in np.meshgrid(radius, angle, indexing="ij"))
    weights = np.repeat(w * RADIUS / 2 * radius * 2 * np.pi / 32, 32)
    t = np.array([0.0, 0.05, 0.1])
    x, y = r * np.cos(a), r * np.sin(a)
    return xarray.Dataset(
        {"u": (("time", "point"), np.exp(-t)[:, None] * (0.36 - x**2 - y**2)), "weights": ("point", weights)},
        {"time": t, "x": ("point", x), "y": ("point", y)},
        {
            "title": "bump",
            "method": "formula",
            "made_by": "this test",
            "estimated_error": 1e-9,
            "error_estimate": "none",
        },
    )


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GLEG_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.yaml").write_text(TINY, encoding="utf-8")
    (tmp_path / "measured.yaml").write_text(MEASURED, encoding="utf-8")
    (tmp_path / "data").mkdir()
    reference().to_netcdf(tmp_path / "data" / "r.nc", engine="h5netcdf")
    return tmp_path


# --- reference files ------------------------------------------------------------------------------------------------


def test_a_reference_is_validated_without_torch() -> None:
    program = (
        "import sys; sys.argv = ['gleg', 'validate', 'measured.yaml']\n"
        "from gleg_cli.main import main\ntry:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert lines[1:] == ["reference r.nc: 640 points, 3 times, estimated error 1.0e-09", "False"]


def test_a_run_is_compared_with_its_reference(folder: Path) -> None:
    """Also from another folder, by the resolved problem."""
    code, out, err = gleg("run", "measured.yaml")
    assert code == 0 and err == "" and "1.0e-09" in out
    resolved = load_problem(folder / "measured-run" / "spec.resolved.yaml").keys(ReferenceKey).reference
    assert resolved is not None and Path(resolved) == folder / "data" / "r.nc"
    error = json.loads((folder / "measured-run" / "metrics.json").read_text())["fields"]["u"]["relative_l2"]
    assert error["against"] == "reference" and error["times"] == pytest.approx([0, 0.05, 0.1])
    assert 0.001 < error["final"] < 0.1  # the bump is no solution of the unforced equation
    code, out, _ = gleg("score", "measured-run", "--json")
    assert code == 0 and json.loads(out)["fields"]["u"]["error"]["final"] == pytest.approx(error["final"], rel=1e-9)


def moved(name: str, index: int, value: float) -> Callable[[xarray.Dataset], xarray.Dataset]:
    def change(data: xarray.Dataset) -> xarray.Dataset:
        values = data[name].values.copy()
        values.flat[index] = value
        return (
            data.assign({name: (data[name].dims, values)})
            if name in data.data_vars
            else data.assign_coords({name: (data[name].dims, values)})
        )

    return change


MISTAKES: dict[str, tuple[Callable[[xarray.Dataset], xarray.Dataset], str]] = {
    "no field": (lambda d: d.rename(u="w"), "there is no field 'u'. Variables: time, w, weights, x, y"),
    "unknown field": (lambda d: d.assign(uu=d["u"]), "'uu' is no field of the problem. Fields: u. Did you mean 'u'?"),
    "dimensions": (lambda d: d.transpose("point", "time"), "'u' has the dimensions (point, time), they must be (time, point)"),
    "no weights": (lambda d: d.drop_vars("weights"), "there is no variable 'weights'"),
    "no coordinate": (lambda d: d.drop_vars("y"), "there is no coordinate 'y'"),
    "not a number": (moved("u", 3, np.nan), "'u' has 1 values that are not finite, the first at [0, 3]"),
    "weight": (moved("weights", 5, -1.0), "1 of 640 weights are not positive, the smallest is -1"),
    "text": (lambda d: d.assign(weights=d["weights"].astype(str)), "'weights' holds"),
    "time not saved": (moved("time", 1, 0.04), "1 of its times are not saved, the first is t = 0.04; the run saves 5 states"),
    "times fall": (moved("time", 1, 0.0), "its times do not increase"),
    "outside": (moved("x", 7, 2.0), "1 of 640 points are not strictly inside the domain, the first is (2, "),
    "no error": (lambda d: d.drop_attrs(), "the attribute estimated_error must be the reference's own relative L² error"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_a_reference(name: str, folder: Path) -> None:
    change, says = MISTAKES[name]
    (folder / "data" / "r.nc").unlink()
    change(reference()).to_netcdf(folder / "data" / "r.nc", engine="h5netcdf")
    for command in ("validate", "run"):
        code, out, err = gleg(command, "measured.yaml")
        assert code == 2 and out == "", (out, err)
        assert f"measured.yaml:11: reference: r.nc: {says}" in err
        assert name == "no field" or len(err.splitlines()) == 1


def test_a_point_on_the_boundary_is_refused(folder: Path) -> None:
    data = moved("y", 0, 0.0)(moved("x", 0, RADIUS)(reference()))
    (folder / "data" / "r.nc").unlink()
    data.to_netcdf(folder / "data" / "r.nc", engine="h5netcdf")
    code, _, err = gleg("validate", "measured.yaml")
    assert code == 2 and "1 of 640 points are not strictly inside the domain, the first is (0.6, 0)" in err


def test_a_reference_that_is_not_there_or_no_reference(folder: Path) -> None:
    code, _, err = gleg("validate", "measured.yaml", "--set", "reference=data/s.nc")
    assert code == 2 and len(err.splitlines()) == 1
    assert "s.nc: there is no such file in" in err and "Did you mean r.nc?" in err
    (folder / "data" / "r.nc").write_text("x, y, u\n1, 2, 3\n")
    code, _, err = gleg("validate", "measured.yaml")
    assert code == 2 and err.endswith("r.nc: is not a NetCDF file that can be read\n") and len(err.splitlines()) == 1


def test_exact_and_reference_together_are_told(folder: Path) -> None:
    (folder / "both.yaml").write_text(TINY + "reference: data/r.nc\n", encoding="utf-8")
    says = "both.yaml:12: reference: not used for u: the exact solution takes its place"
    code, out, _ = gleg("validate", "both.yaml")
    assert code == 0 and says in out
    code, _, err = gleg("run", "both.yaml", "--quiet")
    assert code == 0 and err == f"warning: {says}\n"


# --- points ---------------------------------------------------------------------------------------------------------

SHAPES: dict[str, tuple[dict[str, Any], Callable[[np.ndarray], np.ndarray]]] = {
    "disk": ({"kind": "disk", "radius": 0.5}, lambda p: 0.5 - np.hypot(*p.T)),
    "rectangle": (
        {"kind": "rectangle", "x": [-1, 1], "y": [-0.5, 0.5]},
        lambda p: np.minimum(1 - np.abs(p[:, 0]), 0.5 - np.abs(p[:, 1])),
    ),
    "interval": ({"kind": "interval", "left": 0, "right": 2}, lambda p: np.minimum(p[:, 0], 2 - p[:, 0])),
}


def domain_of(shape: dict[str, Any]) -> Any:
    spec = {
        "domain": shape,
        "fields": {"u": {"initial": 1, "boundary": [{"kind": "neumann"}], "equation": [{"block": "diffusion"}]}},
        "time": {"end": 1},
    }
    problem = load_problem(spec, registry=default_registry())
    return problem.build(problem.domain)


@pytest.mark.parametrize("name", SHAPES)
def test_independent_points_are_inside_and_never_on_the_boundary(name: str) -> None:
    shape, depth = SHAPES[name]
    domain = domain_of(shape)
    points = independent_points(domain, 3000)
    assert points.shape == (3000, domain.dim) and depth(points).min() > 0
    nodes = domain.quadrature(20.0).points
    assert np.abs(points[:, None] - nodes).sum(axis=2).min() > 1e-9  # none of them is a quadrature node
    rim = np.concatenate([segment.sample(40).points for segment in domain.segments])
    assert not strictly_inside(domain, rim).any()
    # the mean of a function over them is its integral: they cover Ω evenly
    centre, span = domain.bounds.mean(axis=1), domain.quadrature(20.0)
    square = span.weights @ ((span.points - centre) ** 2).sum(axis=1) / span.weights.sum()
    assert ((points - centre) ** 2).sum(axis=1).mean() == pytest.approx(square, rel=0.01)


# --- the command ----------------------------------------------------------------------------------------------------

TOP = {
    "schema", "title", "t", "interrupted", "frames", "time_refinement", "remarks", "error", "contributions", "boundary",
    "lyapunov", "fields", "conditioning", "changed_packs",
}  # fmt: skip
FIELD = {"against", "points", "times", "error", "contributions", "boundary", "invariants", "budget"}
PARTS = ["best_approximation", "galerkin", "time", "reference"]


def check_schema(data: dict[str, Any]) -> None:
    assert set(data) == TOP and data["schema"] == 1
    for field in data["fields"].values():
        assert set(field) == FIELD
        if field["error"] is not None:
            assert set(field["error"]) == {"final", "mean", "max", "history"}
            assert list(field["contributions"]) == PARTS == list(data["contributions"])
            for part in filter(None, field["contributions"].values()):
                assert set(part) == {"final", "max", "history"}
        assert set(field["boundary"]) == {"rms", "relative", "traces"}
        for trace in field["boundary"]["traces"]:
            assert set(trace) == {"segment", "trace", "of", "points", "unseen", "length", "rms", "relative"}
        assert set(field["invariants"]) == {"mass", "energy"}
        assert set(field["budget"]) == {"times", "rate", "terms", "closes"}
    assert set(data["conditioning"]) == {"tau_C", "tau_M", "stiffness", "growing_modes", "spaces"}


def test_a_problem_file_is_run_and_scored(folder: Path) -> None:
    code, out, err = gleg("score", "tiny.yaml")
    assert code == 0 and err == ""
    for text in ("10,000 points, exact", "best approximation", "Galerkin", "time steps", "boundary, value", "budget"):
        assert text in out
    assert max(map(len, out.splitlines())) <= 100 and "…" not in out
    data = json.loads((folder / "tiny-run" / "score.json").read_text(encoding="utf-8"))
    check_schema(data)
    metrics = json.loads((folder / "tiny-run" / "metrics.json").read_text(encoding="utf-8"))
    assert data["error"]["max"] == pytest.approx(metrics["relative_l2"]["max"], rel=0.05)  # other points, the same norm
    assert (folder / "tiny-run" / "score.png").read_bytes().startswith(b"\x89PNG")
    assert not list((folder / "tiny-run").glob(".*"))


def test_the_score_of_a_folder_is_that_of_the_run(folder: Path) -> None:
    run = front_door.solve("tiny.yaml")
    run.save("tiny-run")
    code, out, err = gleg("score", "tiny-run", "--json", "--points", "2000")
    assert code == 0 and err == ""
    data, direct = json.loads(out), score(run, 2000).data
    check_schema(data)
    assert data["fields"]["u"]["points"] == 2000
    for key in ("final", "mean", "max"):
        assert data["error"][key] == pytest.approx(direct["error"][key], rel=1e-6)
    for part in PARTS[:2]:
        assert data["contributions"][part]["final"] == pytest.approx(direct["contributions"][part]["final"], rel=1e-4)
    again = load_run(stored_problem(folder / "tiny-run"), folder / "tiny-run")
    assert again.u(0.1, 0.2, 0.0625) == pytest.approx(run.u(0.1, 0.2, 0.0625), rel=1e-10)
    assert again.trajectory.steps == 4


def test_no_time_error_and_no_truth(folder: Path) -> None:
    assert gleg("run", "measured.yaml", "--set", "reference=null", "--quiet")[0] == 0
    code, out, err = gleg("score", "measured-run", "--no-time-error", "--json")
    assert code == 0 and err == "note: u: neither an exact solution nor a reference is known here: no error\n"
    data = json.loads(out)
    check_schema(data)
    assert data["error"] is None and data["contributions"] is None and data["fields"]["u"]["error"] is None
    assert data["boundary"]["relative"] < 1e-8 and (folder / "measured-run" / "score.png").exists()
    assert data["lyapunov"]["change"] < 0 == data["lyapunov"]["largest_rise"]


def test_an_exact_solution_that_ends_before_the_run_is_scored_until_then(folder: Path) -> None:
    settings = ["--set", "fields.u.exact=(0.36 - x^2 - y^2)*sqrt(0.06 - t)", "--set", "fields.u.forcing=none"]
    assert gleg("run", "tiny.yaml", "--quiet", *settings)[0] == 0
    code, out, err = gleg("score", "tiny-run", "--json")
    assert code == 0 and "not finite at t = 0.075, so the error of 'u' is not known there" in err
    data = json.loads(out)
    assert data["error"] == {"final": None, "mean": None, "max": None}
    assert [e is None for e in data["fields"]["u"]["error"]["history"]] == [False, False, False, True, True]


def test_the_score_of_an_interrupted_run(folder: Path) -> None:
    class Stop(Silent):
        def progress(self, t: float, end: float) -> None:
            if t > 0.06:
                raise KeyboardInterrupt

    run = front_door.solve("measured.yaml", listener=Stop(), time={"step": 0.01})
    assert run.trajectory.interrupted
    reached = float(run.times[-1])
    run.save("measured-run")
    code, out, _ = gleg("score", "measured-run", "--json")
    data = json.loads(out)
    check_schema(data)
    assert code == 0 and data["interrupted"] is True and data["t"] == pytest.approx(reached) and reached < 0.08
    assert data["fields"]["u"]["times"] == pytest.approx([0, 0.05])  # the times of the reference that were reached


def test_ctrl_c_leaves_the_run_without_a_score(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def pressed(*arguments: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("gleg_results.balances.budgets", pressed)
    code, _, err = gleg("score", "tiny.yaml", "--json")
    assert code == 130 and err == "interrupted; tiny-run holds the run, no score was written\n"
    assert not (folder / "tiny-run" / "score.json").exists() and (folder / "tiny-run" / "result.nc").exists()


def test_a_new_run_takes_the_old_score_away(folder: Path) -> None:
    assert gleg("score", "tiny.yaml", "--json")[0] == 0
    assert gleg("run", "tiny.yaml", "--quiet")[0] == 0
    assert sorted(p.name for p in (folder / "tiny-run").iterdir()) == [
        "metrics.json",
        "result.nc",
        "spec.resolved.yaml",
    ]


def without_coefficients(folder: Path) -> None:
    data = xarray.load_dataset(folder / "result.nc")
    (folder / "result.nc").unlink()
    data.drop_vars("u_coefficients").to_netcdf(folder / "result.nc", engine="h5netcdf")


def scaled(folder: Path) -> None:
    """Coefficients that are in no admissible space: the boundary is not kept."""
    data = xarray.load_dataset(folder / "result.nc")
    (folder / "result.nc").unlink()
    data["u_coefficients"] += np.arange(data.sizes["coefficient"])
    data.to_netcdf(folder / "result.nc", engine="h5netcdf")


def other_problem(folder: Path) -> None:
    path = folder / "spec.resolved.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("coefficient: 0.1", "coefficient: 0.2"), encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda f: (f / "result.nc").unlink(), "is not the folder of a run: there is no result.nc"),
        (lambda f: (f / "result.nc").write_bytes(b"no"), "cannot be read; write it again with gleg run"),
        (without_coefficients, "has no coefficients of 'u': an older gleg wrote it"),
        (other_problem, "spec.resolved.yaml and result.nc are not of the same run"),
        (scaled, "its fields are not in the space that is built now"),
    ],
)
def test_a_folder_that_cannot_be_scored(change: Callable[[Path], Any], says: str, folder: Path) -> None:
    assert gleg("run", "tiny.yaml", "--quiet")[0] == 0
    change(folder / "tiny-run")
    code, out, err = gleg("score", "tiny-run")
    assert code == 2 and says in err and len(err.splitlines()) == 1, (out, err)
    assert not (folder / "tiny-run" / "score.json").exists()


def test_changed_packs_are_noted(folder: Path) -> None:
    assert gleg("run", "tiny.yaml", "--quiet")[0] == 0
    run, old = folder / "tiny-run", "sha256 "
    text = (run / "spec.resolved.yaml").read_text(encoding="utf-8")
    changed = text.replace(old, old + "0", 1)
    (run / "spec.resolved.yaml").write_text(changed, encoding="utf-8")
    data = xarray.load_dataset(run / "result.nc")
    (run / "result.nc").unlink()
    data.assign_attrs(spec=changed).to_netcdf(run / "result.nc", engine="h5netcdf")
    code, out, err = gleg("score", "tiny-run", "--json", "--no-time-error")
    assert code == 0 and err.startswith("note: pack '") and " → " in err
    assert len(json.loads(out)["changed_packs"]) == 1
