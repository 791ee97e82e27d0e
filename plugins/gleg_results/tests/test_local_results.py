"""Results of runs on a local basis: metrics, datasets, pictures, saved runs, restarts, scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from local_problems import DIFFUSION, errors, integral, loaded, one_field, points, registry, solved
from matplotlib.figure import Figure

import gleg
from gleg_core.errors import SpecError
from gleg_core.run import Run
from gleg_results.score import score

REACTION = {"block": "power", "p": 3, "coefficient": -1}
MANUFACTURED = one_field(
    0.25,
    [
        {"kind": "dirichlet", "where": "left", "data": "exact"},
        {"kind": "robin", "kappa": 2, "data": "exact", "where": "rest"},
    ],
    [{**DIFFUSION, "coefficient": 0.3}, REACTION],
    field={"exact": "exp(-t)*sin(2*x + y) + x*y", "forcing": "manufactured"},
    time={"end": 0.5, "step": 0.05, "integrator": "imex-ark4"},
    output={"frames": 5, "probes": [[0.3, 0.4]], "grid": 21},
)


@pytest.fixture(autouse=True)
def triangles_are_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A saved run is validated again, with what is installed."""
    for module in ("gleg_core.spec.problem", "gleg_core.spec.guard"):
        monkeypatch.setattr(f"{module}.default_registry", registry)


@pytest.fixture(scope="module")
def run() -> Run:
    return solved(MANUFACTURED)


def test_errors_on_independent_points(run: Run) -> None:
    found = run.metrics["relative_l2"]["final"]
    assert found == pytest.approx(errors(run, 0.5)[0], rel=0.15)
    assert found < 1e-3
    assert run.metrics["fields"]["u"]["invariants"]["mass"][-1] == pytest.approx(integral(run, 0.5), rel=1e-12)


def test_boundary_residuals_are_those_of_data_and_of_slopes(run: Run) -> None:
    """Values are met as well as traces can, slopes as well as slopes can; both shrink with the elements."""
    finer = solved(MANUFACTURED | {"basis": {"kind": "quadratic-triangles", "h": 0.125}})
    coarse, fine = (r.metrics["boundary_residual"]["relative"] for r in (run, finer))
    assert fine < 0.02 and coarse / fine > 3.0


def test_dataset_and_pictures(run: Run) -> None:
    data = run.dataset
    assert data.u.dims == ("time", "y", "x") and data.u.shape == (6, 21, 21)
    here = data.u.isel(time=3, x=7, y=12)
    assert float(here) == pytest.approx(run.u(float(here.x), float(here.y), float(here.time)), rel=1e-12)
    assert data.u_probes.values[:, 0] == pytest.approx([run.u(0.3, 0.4, t) for t in run.times], rel=1e-12)
    nodes = np.column_stack([data.node_x, data.node_y])
    assert data.u_nodes.values[2] == pytest.approx(run.evaluate("u", nodes, 0.2), rel=1e-10)
    assert data.u_nodes.values[0] @ data.node_weight.values == pytest.approx(integral(run, 0.0), rel=1e-12)
    assert isinstance(run.plot(), Figure)


def test_a_saved_run_is_opened_again(run: Run, tmp_path: Path) -> None:
    assert "result.nc" in run.save(tmp_path / "run")
    again = gleg.open_run(tmp_path / "run")
    assert torch.allclose(torch.stack(again.trajectory.states), torch.stack(run.trajectory.states), rtol=0, atol=1e-12)
    assert again.u(0.3, 0.4, 0.22) == pytest.approx(run.u(0.3, 0.4, 0.22), rel=1e-12)
    assert again.metrics["relative_l2"]["final"] == pytest.approx(run.metrics["relative_l2"]["final"], rel=1e-9)


def heat(**keys: Any) -> dict[str, Any]:
    return one_field(0.25, [{"kind": "robin", "kappa": 2, "value": "sin(t)"}], [DIFFUSION, REACTION], "x + y", **keys)


def test_restart(tmp_path: Path) -> None:
    """From the middle of a run, on the same elements and on finer ones: the state is a function, whatever represents it."""
    time = {"end": 0.4, "step": 0.02, "integrator": "imex-ark4"}
    whole = solved(heat(time=time, output={"frames": 2}))
    whole.save(tmp_path / "run")
    for h, tolerance in ((0.25, 1e-6), (0.125, 2e-3)):
        problem = heat(time=time | {"start": 0.2}, restart={"file": str(tmp_path / "run" / "result.nc")})
        problem["basis"]["h"] = h
        del problem["fields"]["u"]["initial"]
        second = gleg.solve(loaded(problem))
        start, end = (
            np.abs(second.evaluate("u", points(), t) - whole.evaluate("u", points(), t)).max() for t in (0.2, 0.4)
        )
        assert start < 1e-12
        assert end < tolerance


def test_states_without_their_domain_are_refused(tmp_path: Path) -> None:
    run = solved(heat(time={"end": 0.1, "step": 0.05}, output={"frames": 1}))
    data = run.dataset
    del data.attrs["spec"]
    data.to_netcdf(tmp_path / "states.nc", engine="h5netcdf")
    problem = heat(time={"start": 0.1, "end": 0.2, "step": 0.05}, restart={"file": str(tmp_path / "states.nc")})
    del problem["fields"]["u"]["initial"]
    with pytest.raises(SpecError, match="were made for a domain, and the file does not say for which"):
        gleg.solve(loaded(problem))


def test_score_of_a_manufactured_solution(run: Run) -> None:
    data = score(run).data
    assert data["error"]["final"] == pytest.approx(errors(run, 0.5)[0], rel=0.15)
    parts = {name: part["final"] for name, part in data["contributions"].items()}
    assert parts["time"] < 0.1 * parts["best_approximation"] < 0.2 * data["error"]["final"]
    assert parts["best_approximation"] <= data["error"]["final"] * 1.001
    assert data["conditioning"]["spaces"]["u"]["kernel"] is None


def test_the_budget_closes_where_states_may_be_tested_with_themselves() -> None:
    """d/dt ½∫u² = Σ ∫ u c L(u), and by hand: −∫|∇u|² − κ∮u² + ∮ u g − ∫u⁴ from values at other points."""
    run = solved(heat(time={"end": 0.2, "step": 0.01}, output={"frames": 4}))
    budget = score(run).data["fields"]["u"]["budget"]
    assert max(budget["closes"].values()) < 1e-9
    diffusion, reaction = (history[-1] for history in budget["terms"].values())
    x, w, inside, area = square_rule()
    u, *slopes = (run.evaluate("u", inside, 0.2, alpha) for alpha in ((0, 0), (1, 0), (0, 1)))
    rim = 0.0
    for side in (
        np.column_stack(p) for p in ((x, 0 * x + EDGE), (x, 0 * x + 1 - EDGE), (0 * x + EDGE, x), (0 * x + 1 - EDGE, x))
    ):
        v = run.evaluate("u", side, 0.2)
        rim += w @ (v * (np.sin(0.2) - 2 * v))
    assert diffusion == pytest.approx(rim - area @ (slopes[0] ** 2 + slopes[1] ** 2), rel=1e-5)
    assert reaction == pytest.approx(-area @ u**4, rel=1e-5)


def test_the_functional_that_falls() -> None:
    """½∫|∇u|² + ¼∫u⁴ + ½κ∮u² of a gradient flow in L²(Ω): coordinates are not orthonormal, and products must know."""
    problem = one_field(
        0.25,
        [{"kind": "robin", "kappa": 2}],
        [DIFFUSION, REACTION],
        "x + y",
        time={"end": 0.3, "step": 0.01},
        output={"frames": 6},
    )
    run = solved(problem)
    found = score(run).data["lyapunov"]
    assert found["asymmetry"] < 1e-8 and found["largest_rise"] == 0.0
    x, w, inside, area = square_rule()

    def functional(t: float) -> float:
        u, *slopes = (run.evaluate("u", inside, t, alpha) for alpha in ((0, 0), (1, 0), (0, 1)))
        total = area @ (0.5 * (slopes[0] ** 2 + slopes[1] ** 2) + 0.25 * u**4)
        for side in (
            np.column_stack(p)
            for p in ((x, 0 * x + EDGE), (x, 0 * x + 1 - EDGE), (0 * x + EDGE, x), (0 * x + 1 - EDGE, x))
        ):
            total += w @ run.evaluate("u", side, t) ** 2
        return float(total)

    assert found["change"] == pytest.approx(functional(0.3) - functional(0.0), rel=1e-5)


def test_advection_is_no_gradient_flow() -> None:
    turning = {"block": "advection", "velocity": ["0.5 - y", "x - 0.5"], "coefficient": 5}
    problem = one_field(0.25, [{"kind": "neumann"}], [DIFFUSION, turning], "x + y", time={"end": 0.3, "step": 0.01})
    assert score(solved(problem)).data["lyapunov"] is None


EDGE = 1e-12
"""Distance from ∂Ω at which a run says what u is there."""


def square_rule() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Gauss rules on [0, 1] and on its square, 20 nodes in every quarter."""
    s, v = np.polynomial.legendre.leggauss(20)
    x = np.concatenate([(k + (s + 1) / 2) / 4 for k in range(4)])
    w = np.tile(v / 8, 4)
    X, Y = np.meshgrid(x, x, indexing="ij")
    return x, w, np.column_stack([X.ravel(), Y.ravel()]), np.outer(w, w).ravel()
