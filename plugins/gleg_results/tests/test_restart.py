"""Runs that start from stored states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from gleg import load as load_problem
from gleg import solve
from gleg_core.errors import GlegError
from gleg_results.dataset import as_dataset

FIELD = {
    "boundary": [{"kind": "dirichlet", "value": "0.2*x*cos(t)"}],
    "equation": [{"block": "diffusion", "coefficient": 0.1}, {"block": "power", "p": 2}],
}


def problem(start: float, end: float, **keys: Any) -> dict[str, Any]:
    return {
        "domain": {"kind": "ellipse", "a": 0.7, "b": 0.5},
        "basis": {"kind": "fourier", "K": 10},
        "fields": {"u": FIELD | keys.pop("field", {})},
        "time": {"start": start, "end": end, "step": 0.01},
        "output": {"frames": 2},
        **keys,
    }


@pytest.fixture(scope="module")
def half(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("half") / "result.nc"
    as_dataset(solve(problem(0, 0.1, field={"initial": "x*y + 0.1"}))).to_netcdf(path, engine="h5netcdf")
    return path


@pytest.mark.parametrize(("K", "tolerance"), [(10, 1e-9), (12, 1e-4)])
def test_a_run_in_two_halves_is_the_whole_run(half: Path, K: int, tolerance: float) -> None:
    """Also with another basis, whose own error is then the difference."""
    whole = solve(problem(0, 0.2, field={"initial": "x*y + 0.1"}))
    second = solve(problem(0.1, 0.2, restart={"file": str(half)}, basis={"kind": "fourier", "K": K}))
    points = torch.tensor([[0.1, 0.2], [-0.3, 0.1], [0.5, -0.1]], dtype=torch.float64).numpy()
    assert second.evaluate("u", points, 0.2) == pytest.approx(whole.evaluate("u", points, 0.2), abs=tolerance)


@pytest.mark.parametrize(
    ("start", "keys", "says"),
    [
        (0.07, {"restart": {"file": "result.nc"}}, r"no state at the start of the run, t = 0\.07; stored are 0, 0\.05, 0\.1"),
        (0.1, {"restart": {"file": "other.nc"}}, "there is no file"),
        (0.1, {"restart": {"file": "result.nc"}, "field": {"initial": "x"}}, "nothing would start from it"),
        (0.1, {"restart": {"file": "result.nc", "trajectory": -1}}, r"restart\.trajectory"),
        (0.1, {}, "nothing to start from"),
    ],
)  # fmt: skip
def test_what_cannot_be_started_from(half: Path, start: float, keys: dict[str, Any], says: str) -> None:
    spec = problem(start, 0.2, **keys)
    if "restart" in spec:
        spec["restart"]["file"] = str(half.with_name(spec["restart"]["file"]))
    with pytest.raises(GlegError, match=says):
        solve(load_problem(spec))


def test_without_a_start_a_run_goes_on_from_the_end_of_the_file(half: Path) -> None:
    spec = problem(0.1, 0.2, restart={"file": str(half)})
    stated, spec["time"] = solve(spec), {"end": 0.2, "step": 0.01}
    run = solve(spec)
    assert run.times.tolist() == stated.times.tolist()
    assert torch.equal(run.state(0.2), stated.state(0.2))


def test_a_run_that_goes_on_ends_after_the_end_of_the_file(half: Path) -> None:
    spec = problem(0.1, 0.2, restart={"file": str(half)}) | {"time": {"end": 0.05}}
    with pytest.raises(GlegError, match=r"time\.end: found 0\.05, it must be later than the start 0\.1"):
        load_problem(spec)


def test_a_file_without_states(tmp_path: Path, half: Path) -> None:
    import xarray as xr

    xr.load_dataset(half, engine="h5netcdf").drop_vars("u_coefficients").to_netcdf(
        tmp_path / "bare.nc", engine="h5netcdf"
    )
    with pytest.raises(GlegError, match="has no states of 'u' to start from"):
        solve(problem(0.1, 0.2, restart={"file": str(tmp_path / "bare.nc")}))
