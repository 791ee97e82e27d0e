"""Scores of problems whose error, and what it is made of, is known in closed form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import gleg
from gleg_results.score import score

END = 1.0


def heat(exact: str = "exp(-t)*sin(x)", diffusivity: float = 1.0, K: int = 12, **keys: Any) -> dict[str, Any]:
    """u_t = D u_xx on (0, π), u = 0 at both ends: exp(−D t) sin x."""
    field = {
        "exact": exact,
        "boundary": [{"kind": "dirichlet"}],
        "equation": [{"block": "diffusion", "coefficient": diffusivity}],
    }
    spec = {
        "domain": {"kind": "interval", "left": 0, "right": "pi"},
        "basis": {"kind": "fourier", "K": K},
        "fields": {"u": field | keys.pop("field", {})},
        "time": {"end": END, "step": 0.1},
        "output": {"frames": 10},
    }
    return spec | keys


def parts(spec: dict[str, Any], **options: Any) -> tuple[float, dict[str, float | None]]:
    """Final error and its contributions."""
    data = score(gleg.solve(spec), **options).data
    return data["error"]["final"], {k: v and v["final"] for k, v in data["contributions"].items()}


def test_a_mode_outside_the_space_is_best_approximation_error() -> None:
    """Nothing moves (D = 1e-12), so the run stays at the projection of sin 31x, which the space does not hold."""
    run = gleg.solve(heat("sin(31*x)", diffusivity=1e-12))
    data = score(run).data
    part = {k: v["final"] for k, v in data["contributions"].items()}
    # independently: distance of sin 31x from the span, by least squares on a Gauss–Legendre rule
    s, w = np.polynomial.legendre.leggauss(400)
    x, w = np.pi * (s + 1) / 2, np.pi * w / 2
    space = run.discretisation.system.fields["u"].space
    functions = (space.N.T @ space.basis.tabulate(torch.from_numpy(x)[:, None], [(0,)])[(0,)]).numpy()
    u = np.sin(31 * x)
    rest = u - functions.T @ np.linalg.lstsq((functions * np.sqrt(w)).T, u * np.sqrt(w), rcond=1e-12)[0]
    distance = np.sqrt(w @ rest**2 / (w @ u**2))
    assert 0.01 < distance < 1
    assert part["best_approximation"] == pytest.approx(distance, rel=0.01)  # independent points, not a Gauss rule
    assert data["error"]["final"] == pytest.approx(part["best_approximation"], rel=1e-6)
    assert part["galerkin"] < 1e-6 * distance and part["time"] < 1e-6 * distance and part["reference"] == 0


@pytest.mark.parametrize("step", [0.1, 0.05])
def test_long_steps_are_time_error(step: float) -> None:
    """Crank–Nicolson multiplies sin x by (1 − h/2)/(1 + h/2) per step; its error falls by four when the step is halved."""
    error, part = parts(heat(time={"end": END, "step": step, "integrator": "crank-nicolson"}))
    growth = ((1 - step / 2) / (1 + step / 2)) ** round(END / step)
    expected = abs(growth / np.exp(-END) - 1)
    assert error == pytest.approx(expected, rel=1e-3)
    assert part["time"] == pytest.approx(expected, rel=2 * step**2)
    assert part["galerkin"] < step**2 * expected and part["best_approximation"] < 1e-4 * expected


def test_steps_that_do_not_fill_a_frame_are_halved_as_they_were_taken() -> None:
    """Steps of 0.07 become two of 0.05 per frame: halving 0.07 itself would take three, not four."""
    _, part = parts(heat(time={"end": END, "step": 0.07, "integrator": "crank-nicolson"}))
    growth = ((1 - 0.025) / (1 + 0.025)) ** 20
    assert part["time"] == pytest.approx(abs(growth / np.exp(-END) - 1), rel=0.01)


def test_time_error_of_controlled_steps() -> None:
    error, part = parts(heat(time={"end": END, "tolerance": 1e-4, "integrator": "crank-nicolson"}))
    assert part["time"] == pytest.approx(error, rel=0.3)
    assert part["galerkin"] < 0.3 * error


def test_a_wrong_coefficient_is_galerkin_error() -> None:
    """The run decays with D = 1.1, the exact solution with D = 1."""
    error, part = parts(heat(diffusivity=1.1))
    expected = 1 - np.exp(-0.1 * END)
    assert error == pytest.approx(expected, rel=1e-5)
    assert part["galerkin"] == pytest.approx(expected, rel=1e-5)
    assert part["time"] < 1e-8 and part["best_approximation"] < 1e-5


def test_without_the_second_rollout_the_error_in_time_is_in_the_galerkin_part() -> None:
    run = gleg.solve(heat(time={"end": END, "step": 0.1, "integrator": "crank-nicolson"}))
    data = score(run, time_error=False).data
    assert data["contributions"]["time"] is None and data["time_refinement"] is None
    assert data["contributions"]["galerkin"]["final"] == pytest.approx(data["error"]["final"], rel=1e-3)
    assert any("error in time was not measured" in line for line in data["remarks"])


def test_coupled_fields_are_pooled() -> None:
    """u is right, v is wrong by a known factor and three times as large: pooled by squares."""
    spec = heat()
    spec["fields"]["v"] = spec["fields"]["u"] | {
        "exact": "3*exp(-t)*sin(x)",
        "equation": [{"block": "diffusion", "of": "v", "coefficient": 1.1}],
    }
    data = score(gleg.solve(spec)).data
    wrong = 1 - np.exp(-0.1)
    assert data["fields"]["u"]["error"]["final"] < 1e-5
    assert data["fields"]["v"]["error"]["final"] == pytest.approx(wrong, rel=1e-4)
    assert data["error"]["final"] == pytest.approx(np.sqrt(9 / 10) * wrong, rel=1e-4)
    assert data["contributions"]["galerkin"]["final"] == pytest.approx(np.sqrt(9 / 10) * wrong, rel=1e-4)


# --- reference files ------------------------------------------------------------------------------------------------


def reference_file(path: Path, noise: float, points: int = 200, frames: int = 5) -> None:
    """exp(−t) sin x with noise of a known size, on Gauss–Legendre points, at every second frame."""
    import xarray

    s, w = np.polynomial.legendre.leggauss(points)
    x, w, t = np.pi * (s + 1) / 2, np.pi * w / 2, np.linspace(0, END, frames + 1)
    u = np.exp(-t)[:, None] * np.sin(x)
    wrong = np.random.default_rng(5).standard_normal(u.shape)
    wrong *= noise * np.sqrt((u**2) @ w / ((wrong**2) @ w))[:, None]
    xarray.Dataset(
        {"u": (("time", "point"), u + wrong), "weights": ("point", w)},
        {"time": t, "x": ("point", x)},
        {
            "title": "decay",
            "method": "formula",
            "made_by": "this test",
            "estimated_error": noise,
            "error_estimate": "known",
        },
    ).to_netcdf(path, engine="h5netcdf")


def with_reference(path: Path) -> dict[str, Any]:
    spec = heat(reference=str(path))
    spec["fields"]["u"]["initial"] = spec["fields"]["u"].pop("exact")
    return spec


def test_a_reference_with_known_noise_gives_that_error(tmp_path: Path) -> None:
    reference_file(tmp_path / "r.nc", noise=1e-3)
    run = gleg.solve(with_reference(tmp_path / "r.nc"))
    error = run.metrics["fields"]["u"]["relative_l2"]
    assert [error[k] for k in ("final", "mean", "max")] == pytest.approx([1e-3] * 3, rel=1e-3)
    assert error["times"] == pytest.approx(np.linspace(0, END, 6)) and error["points"] == 200
    assert error["against"] == "reference" and error["reference_error"] == 1e-3
    assert run.metrics["relative_l2"]["final"] == pytest.approx(1e-3, rel=1e-3)

    data = score(run).data
    r = run.metrics["space"]["r"]
    part = {k: v["final"] for k, v in data["contributions"].items()}
    assert data["error"]["final"] == pytest.approx(1e-3, rel=1e-3) and part["reference"] == 1e-3
    # a least-squares fit takes up the r-th part of the noise; what it takes up is all that is left for Galerkin
    assert part["best_approximation"] == pytest.approx(1e-3 * np.sqrt(1 - r / 200), rel=0.1)
    assert part["galerkin"] == pytest.approx(1e-3 * np.sqrt(r / 200), rel=0.5)
    assert data["fields"]["u"]["points"] == 200 and len(data["fields"]["u"]["times"]) == 6


def test_few_reference_points_do_not_tell_the_best_approximation(tmp_path: Path) -> None:
    reference_file(tmp_path / "r.nc", noise=1e-3, points=20)
    data = score(gleg.solve(with_reference(tmp_path / "r.nc"))).data
    assert data["contributions"]["best_approximation"] is None and data["contributions"]["galerkin"] is None
    assert data["contributions"]["time"]["final"] < 1e-8
    assert any("best approximation not available: 20 reference points" in line for line in data["remarks"])


def test_an_exact_solution_wins_over_a_reference(tmp_path: Path) -> None:
    reference_file(tmp_path / "r.nc", noise=0.1)
    run = gleg.solve(heat(reference=str(tmp_path / "r.nc")))
    assert run.metrics["fields"]["u"]["relative_l2"]["against"] == "exact"
    assert run.metrics["relative_l2"]["max"] < 1e-5
    assert any("the exact solution takes its place" in line for line in score(run).data["remarks"])


# --- balances -------------------------------------------------------------------------------------------------------


def test_the_energy_budget_closes_and_is_the_known_one() -> None:
    """½∫u² = π/4 exp(−2t), all of it lost to diffusion."""
    budget = score(gleg.solve(heat()), time_error=False).data["fields"]["u"]["budget"]
    expected = -np.pi / 2 * np.exp(-2 * np.array(budget["times"]))
    assert budget["rate"] == pytest.approx(expected, rel=1e-5)
    assert next(iter(budget["terms"].values())) == pytest.approx(expected, rel=1e-5)
    assert budget["closes"]["system"] < 1e-8 and budget["closes"]["equation"] < 1e-6


def test_the_budget_holds_forcing_and_moving_data() -> None:
    field = {
        "exact": "(1 + t)*cos(x) + t*x",
        "forcing": "manufactured",
        "boundary": [{"kind": "dirichlet", "data": "exact"}],
        "equation": [{"block": "diffusion", "coefficient": 0.3}, {"block": "power", "p": 3, "coefficient": -1}],
    }
    run = gleg.solve(heat(field=field, time={"end": END, "step": 0.01}))
    budget = score(run, time_error=False).data["fields"]["u"]["budget"]
    t, x = np.array(budget["times"])[:, None], np.linspace(0, np.pi, 20_001)
    u, u_t = (1 + t) * np.cos(x) + t * x, np.cos(x) + x
    assert budget["rate"] == pytest.approx(np.trapezoid(u * u_t, x, axis=1), rel=1e-4)
    assert list(budget["terms"])[-1] == "forcing" and len(budget["terms"]) == 3
    assert budget["closes"]["system"] < 1e-7 and budget["closes"]["equation"] < 1e-5


def transport(**more: Any) -> dict[str, Any]:
    """Inviscid Burgers before its shock, on the disk, u = 0 on the rim."""
    field = {
        "initial": "(1 - x^2 - y^2)^2",
        "boundary": [{"kind": "dirichlet"}],
        "equation": [{"block": "transport", "direction": "x", "coefficient": 0.2}, *more.get("terms", [])],
    }
    return {
        "domain": {"kind": "disk", "radius": 1},
        "basis": {"kind": "fourier", "K": 10},
        "fields": {"u": field},
        "time": {"end": 0.2, "step": 0.02},
        "output": {"frames": 2},
    }


def test_invariants_are_declared_by_all_mechanisms_or_not_at_all() -> None:
    kept = score(gleg.solve(transport()), time_error=False).data["fields"]["u"]["invariants"]
    assert kept["mass"]["declared"] and kept["energy"]["declared"]
    assert kept["mass"]["start"] == pytest.approx(np.pi / 3, rel=1e-6)  # ∫ (1 − s²)² 2π s ds
    assert kept["energy"]["start"] == pytest.approx(np.pi / 10, rel=1e-6)
    assert kept["energy"]["relative_drift"] < 1e-6
    lost = score(gleg.solve(transport(terms=[{"block": "power", "coefficient": -1}])), time_error=False).data
    assert not lost["fields"]["u"]["invariants"]["mass"]["declared"]
    assert lost["fields"]["u"]["invariants"]["mass"]["relative_drift"] > 0.1


def test_the_lyapunov_functional_of_a_gradient_flow() -> None:
    """Allen–Cahn: E = ∫ D/2 u_x² + (u² − 1)²/4, from the run's own derivatives on another rule."""
    field = {
        "initial": "0.3*sin(x) + 0.2*sin(2*x)",
        "exact": None,
        "equation": [
            {"block": "diffusion", "coefficient": 0.05},
            {"block": "power"},
            {"block": "power", "p": 3, "coefficient": -1},
        ],
    }
    run = gleg.solve(heat(field=field, time={"end": 4, "step": 0.05}))
    found = score(run).data["lyapunov"]
    s, w = np.polynomial.legendre.leggauss(200)
    x, w = np.pi * (s + 1) / 2, np.pi * w / 2

    def energy(t: float) -> float:
        u, u_x = run.u(x, t), run.u(x, t, derivative=(1,))
        return float(w @ (0.025 * u_x**2 + (u**2 - 1) ** 2 / 4))

    assert found["history"] == pytest.approx([energy(t) - energy(0.0) for t in run.times], abs=1e-6)
    assert found["change"] < -0.1 and found["largest_rise"] == 0.0 and found["asymmetry"] < 1e-6


def test_no_functional_where_the_flow_is_no_gradient() -> None:
    diffusion = [{"block": "diffusion", "coefficient": 0.1}]
    assert score(gleg.solve(transport(terms=diffusion)), time_error=False).data["lyapunov"] is None
    moving = [*diffusion, {"block": "source", "value": "t"}]
    spec = transport(terms=moving)
    spec["fields"]["u"]["equation"] = moving
    assert score(gleg.solve(spec), time_error=False).data["lyapunov"] is None


# --- boundary -------------------------------------------------------------------------------------------------------


def test_boundary_residual_is_the_rms_on_the_rim() -> None:
    """Data with a kink cannot be met: RMS of u − g on 20,000 points of the circle, by hand."""
    spec = {
        "domain": {"kind": "disk", "radius": 1},
        "basis": {"kind": "fourier", "K": 8},
        "fields": {
            "u": {
                "initial": 0,
                "boundary": [{"kind": "dirichlet", "value": "abs(x)"}],
                "equation": [{"block": "diffusion"}],
            }
        },
        "time": {"end": 0.5, "step": 0.05},
        "output": {"frames": 1},
    }
    run = gleg.solve(spec)
    (trace,) = score(run, time_error=False).data["fields"]["u"]["boundary"]["traces"]
    angle = 2 * np.pi * (np.arange(20_000) + 0.5) / 20_000
    rim = torch.from_numpy(np.stack([np.cos(angle), np.sin(angle)], axis=1))
    d, t = run.discretisation, run.trajectory
    squares, values = [], []
    for z, time in zip(t.states, t.times, strict=True):
        a = d.system.coefficients("u", z, time)
        squares.append(np.mean((d.basis.evaluate(a, rim).numpy() - np.abs(np.cos(angle))) ** 2))
        nodes = d.system.fields["u"].space
        values.append(float(d.basis.evaluate(a, nodes.nodes.x) ** 2 @ nodes.weights / nodes.weights.sum()))
    rms = np.sqrt(np.mean(squares))
    assert rms > 1e-4
    assert trace["rms"] == pytest.approx(rms, rel=0.02)
    assert trace["relative"] == pytest.approx(rms / np.sqrt(np.mean(values)), rel=0.02)
    samples = len(d.system.fields["u"].space.boundary.points.weights)
    assert trace["points"] >= 4 * samples and trace["unseen"] and trace["of"] == "value"


def test_traces_are_told_apart() -> None:
    """Clamped: value against the field, slope against its gradient."""
    spec = {
        "domain": {"kind": "disk", "radius": 1},
        "basis": {"kind": "fourier", "K": 10},
        "fields": {
            "u": {
                "initial": "(1 - x^2 - y^2)^2",
                "boundary": [{"kind": "clamped"}],
                "equation": [{"square": [{"block": "diffusion"}], "coefficient": -1}],
            }
        },
        "time": {"end": 0.001, "step": 0.0005},
        "output": {"frames": 2},
    }
    traces = score(gleg.solve(spec), time_error=False).data["fields"]["u"]["boundary"]["traces"]
    assert [(t["trace"], t["of"]) for t in traces] == [(0, "value"), (1, "derivative")]
    assert all(t["relative"] < 1e-8 for t in traces)
