"""Admissible spaces and solutions under each boundary condition."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import brentq
from scipy.special import jv, jvp, yv, yvp

from gleg import load as load_problem
from gleg import solve
from gleg_core.system.discretise import Discretisation, discretise


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLEG_CACHE", str(tmp_path_factory.mktemp("spaces")))
        yield


HEAT = [{"block": "diffusion"}]
PLATE = [{"square": [{"block": "diffusion"}], "coefficient": -0.01}]


def space(boundary: dict[str, Any], equation: list[dict[str, Any]]) -> Discretisation:
    problem = {
        "domain": {"kind": "ellipse", "a": 0.7, "b": 0.5},
        "basis": {"kind": "fourier", "K": 9},
        "fields": {"u": {"initial": 0, "boundary": [boundary], "equation": equation}},
        "time": {"end": 1},
    }
    return discretise(load_problem(problem))


@pytest.mark.parametrize("name", ["dirichlet", "neumann", "robin", "clamped"])
def test_traces_that_vanish_and_traces_that_do_not(name: str) -> None:
    """Smooth admissible functions: the first ones of the mass ordering, whose traces are small only if they must be."""
    boundary = {"kind": name} | ({"kappa": 3} if name == "robin" else {})
    d = space(boundary, PLATE if name == "clamped" else HEAT)
    field = d.system.fields["u"]
    modes = torch.eye(field.r, dtype=torch.float64)[-12:]  # the slowest modes
    jet, at = field.boundary.of_state(modes, None), field.boundary.at
    assert at.normal is not None
    value, slope = float(jet.value.abs().max()), float(jet.along(at.normal).abs().max())
    size = float(field.interior.of_state(modes, None).value.abs().max())
    vanishing = {"dirichlet": (True, False), "neumann": (False, True), "clamped": (True, True)}.get(
        name, (False, False)
    )
    assert (value < 1e-6 * size, slope < 1e-4 * size) == vanishing


@pytest.mark.parametrize("name", ["dirichlet", "neumann", "robin"])
def test_diffusion_stays_symmetric_and_dissipative(name: str) -> None:
    boundary = {"kind": name} | ({"kappa": "2 + x"} if name == "robin" else {})
    system = space(boundary, HEAT).system
    assert type(system.linear).__name__ == "DiagonalPart"
    eigenvalues = system.rhs(torch.eye(system.size, dtype=torch.float64), 0.0).diagonal()
    assert float(eigenvalues.max()) < (1e-7 if name == "neumann" else -1.0)


MOVING = {
    "dirichlet": [{"kind": "dirichlet", "data": "exact"}],
    "neumann": [{"kind": "neumann", "data": "exact"}],
    "robin": [{"kind": "robin", "kappa": "2 + x", "data": "exact"}],
    "mixed": [
        {"kind": "robin", "kappa": 1.5, "where": "inner", "data": "exact"},
        {"kind": "dirichlet", "where": "rest", "data": "exact"},
    ],
}


@pytest.mark.parametrize("name", MOVING)
def test_heat_with_moving_data_on_an_annulus(name: str) -> None:
    """u = e^{−2t} cos(x + y − a) solves u_t = Δu exactly, and meets no homogeneous condition."""
    problem = {
        "domain": {"kind": "annulus", "outer": 0.7, "inner": 0.3},
        "basis": {"kind": "fourier", "K": 10},
        "fields": {"u": {"exact": "exp(-2*t)*cos(x + y - 0.4)", "boundary": MOVING[name], "equation": HEAT}},
        "time": {"end": 0.2, "step": 0.01},
        "output": {"frames": 4},
    }
    metrics = solve(problem).metrics
    assert metrics["relative_l2"]["max"] < 1e-6
    assert metrics["boundary_residual"]["relative"] < 1e-9


def test_formulas_and_exact_data_give_the_same_solution() -> None:
    problem: dict[str, Any] = {
        "domain": {"kind": "disk", "radius": 0.6},
        "basis": {"kind": "fourier", "K": 8},
        "fields": {"u": {"exact": "exp(-t)*sin(x)", "equation": HEAT}},
        "time": {"end": 0.1, "step": 0.01},
    }
    problem["fields"]["u"]["boundary"] = [{"kind": "neumann", "data": "exact"}]
    exact = solve(problem)
    problem["fields"]["u"]["boundary"] = [{"kind": "neumann", "value": "exp(-t)*cos(x)*x/0.6"}]
    assert exact.u(0.1, 0.2, 0.1) == pytest.approx(solve(problem).u(0.1, 0.2, 0.1), abs=1e-9)


def test_a_clamped_plate_with_moving_data() -> None:
    problem = {
        "domain": {"kind": "disk", "radius": 0.6},
        "basis": {"kind": "fourier", "K": 14},
        "fields": {
            "u": {
                "exact": "cos(2*x - t)*exp(0.5*y)",
                "forcing": "manufactured",
                "boundary": [{"kind": "clamped", "data": "exact"}],
                "equation": PLATE,
            }
        },
        "time": {"end": 0.2, "step": 0.01},
        "output": {"frames": 4},
    }
    assert solve(problem).metrics["relative_l2"]["max"] < 1e-6


ANNULUS = {"kind": "annulus", "outer": 0.7, "inner": 0.3}
HOLE = [{"kind": "dirichlet", "where": "outer"}, {"kind": "floating", "where": "inner"}]


def test_rates_of_decay_around_a_floating_hole() -> None:
    """Modes J_m, Y_m: for m = 0 no net flux is u_r = 0 at the hole, for m ≥ 1 a constant can only be zero."""

    def ring(m: int, k: float) -> float:
        at_hole = (jvp, yvp) if m == 0 else (jv, yv)
        return at_hole[0](m, 0.3 * k) * yv(m, 0.7 * k) - at_hole[1](m, 0.3 * k) * jv(m, 0.7 * k)

    k = np.linspace(1.0, 12.0, 400)
    roots = {m: [brentq(lambda q, m=m: ring(m, q), a, b) for a, b in pairwise(k) if ring(m, a) * ring(m, b) < 0]
             for m in (0, 1, 2)}  # fmt: skip
    rates = sorted([roots[0][0], *2 * [roots[1][0]], *2 * [roots[2][0]]])
    problem = {
        "domain": ANNULUS,
        "basis": {"kind": "fourier", "K": 14},
        "fields": {"u": {"initial": 0, "boundary": HOLE, "equation": HEAT}},
        "time": {"end": 1},
    }
    system = discretise(load_problem(problem)).system
    eigenvalues = system.rhs(torch.eye(system.size, dtype=torch.float64), 0.0).diagonal()
    assert (-eigenvalues).sort().values[:5].numpy() == pytest.approx(np.square(rates), rel=1e-6)


def test_no_net_flux_at_an_eccentric_island() -> None:
    """−Δψ = 1: ψ is constant on the hole and ∮∂_nψ = 0 there, although ∂_nψ is not zero."""
    problem = {
        "domain": {
            "kind": "curve",
            "x": "0.7*cos(s)",
            "y": "0.7*sin(s)",
            "holes": [{"x": "0.2 + 0.2*cos(s)", "y": "0.1 + 0.2*sin(s)"}],
        },
        "basis": {"kind": "fourier", "K": 18},
        "fields": {
            "psi": {
                "steady": True,
                "boundary": [{"kind": "floating", "where": "hole0"}, {"kind": "dirichlet", "where": "rest"}],
                "equation": [*HEAT, {"block": "constant"}],
            },
            "w": {"initial": 0, "boundary": [{"kind": "free"}], "equation": [{"block": "power"}]},
        },
        "time": {"end": 0.01, "step": 0.01},
    }
    angle = np.linspace(0, 2 * np.pi, 240, endpoint=False)
    normal = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    run, rim = solve(problem), [0.2, 0.1] + (0.2 + 1e-9) * normal
    value, *gradient = (run.evaluate("psi", rim, 0.0, alpha) for alpha in ((0, 0), (1, 0), (0, 1)))
    slope = sum(g * n for g, n in zip(gradient, normal.T, strict=True))
    assert value.std() < 1e-8 < 1e-2 < value.mean()
    assert abs(slope.mean()) < 1e-4 * slope.std()
