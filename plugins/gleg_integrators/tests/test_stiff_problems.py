"""Nonlinear diffusion and stiff reactions by default settings: errors, numbers of steps, and what is said where there is no solution."""

from __future__ import annotations

import importlib.util
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import gleg
from gleg_core.errors import NumericsError

BATTERY = Path(__file__).parents[3] / "benchmarks" / "battery"
INTERVAL = {"kind": "interval", "left": 0, "right": 1}
CLOSED = [{"kind": "neumann"}]


def battery(file: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(file).stem, BATTERY / file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("name", "error", "steps"),
    [
        ("nonlinear/exponential_diffusivity", 1e-6, 300),
        ("nonlinear/log_diffusion_front", 2e-6, 100),
        ("nonlinear/porous_inside", 1e-6, 100),
        ("nonlinear/cigar", 1e-5, 100),
        ("systems/robertson", 1e-6, 300),
        ("stiff/van_der_pol", 1e-5, 1500),
    ],
)
def test_battery(name: str, error: float, steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BATTERY)
    runner, case = battery("run.py"), battery(f"{name}.py")
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        run = gleg.solve(case.PROBLEM)
    assert run.problem.integrator.key == "integrators:rosenbrock"
    assert runner.true_error(run, case)["error"] < error
    assert run.trajectory.steps < steps


def test_a_moving_edge_where_diffusion_ends() -> None:
    """Barenblatt's solution on triangles that do not know its kink; the estimate covers what they leave."""
    case = battery("nonlinear/porous_edge.py")
    basis = {"kind": "elements", "size": 0.2, "order": 3}
    with pytest.warns(UserWarning, match="not resolved"):
        run = gleg.solve(case.PROBLEM, basis=basis, time={"end": 0.3})
    x, y = np.random.default_rng(0).uniform(-0.7, 0.7, (2, 500))
    exact = case.exact(x, y, 0.3)
    left = np.linalg.norm(run.evaluate("u", np.stack([x, y], axis=1), 0.3) - exact) / np.linalg.norm(exact)
    assert left < float(run.estimate) < 20 * left and left < 0.05
    assert run.trajectory.steps < 200


@pytest.mark.parametrize("boundary", [CLOSED, [{"kind": "dirichlet"}]], ids=["neumann", "dirichlet"])
def test_fields_that_exchange_fast_on_global_functions(boundary: list[dict[str, Any]]) -> None:
    """u and v exchange at a rate of 1e5 while they diffuse: modes decouple, and each is a 2 × 2 exponential."""
    k, closed = 1e5, boundary is CLOSED

    def field(D: float, other: str, initial: str) -> dict[str, Any]:
        exchange = [{"block": "power", "coefficient": -k}, {"block": "power", "of": other, "coefficient": k}]
        equation = [{"block": "diffusion", "coefficient": D}, *exchange]
        return {"initial": initial, "boundary": boundary, "equation": equation}

    fields = {"u": field(1, "v", "cos(pi*x)" if closed else "sin(pi*x)"), "v": field(0.1, "u", "0")}
    run = gleg.solve({"domain": INTERVAL, "basis": {"kind": "fourier"}, "fields": fields, "time": {"end": 0.5}})
    x, rate = np.linspace(0, 1, 9), np.pi**2
    amplitude = (expm(0.5 * np.array([[-rate - k, k], [k, -0.1 * rate - k]])) @ [1, 0])[0]
    exact = amplitude * (np.cos if closed else np.sin)(np.pi * x)
    assert np.abs(run.evaluate("u", x[:, None], 0.5) - exact).max() < 1e-6 * abs(amplitude)
    assert run.trajectory.steps < 100


def test_order_with_moving_data_and_sources() -> None:
    """Stiff reactions with a source and boundary data that move, at steps of fixed length: order 4, against scipy's Radau."""
    rate = 200.0
    fields = {
        "u": {
            "initial": "1",
            "boundary": CLOSED,
            "equation": [
                {"block": "diffusion"},
                {"block": "power", "p": 3, "coefficient": -rate},
                {"block": "source", "value": f"{rate}*(1 + sin(3*t)/2)^3"},
            ],
        }
    }
    exact = solve_ivp(
        lambda t, u: rate * ((1 + np.sin(3 * t) / 2) ** 3 - u**3), (0, 1), [1.0], "Radau", rtol=1e-12, atol=1e-13
    ).y[0, -1]
    errors = []
    for h in (0.02, 0.01):
        time = {"end": 1, "step": h, "integrator": "rosenbrock"}
        run = gleg.solve({"domain": INTERVAL, "fields": fields, "time": time, "unresolved": "ignore"})
        errors.append(abs(float(run.evaluate("u", np.array([[0.3]]), 1.0)[0]) - exact))
    assert np.log2(errors[0] / errors[1]) > 3.5 and errors[1] < 1e-6


def test_diffusion_that_would_run_backwards_ends_the_run_with_a_sentence() -> None:
    """A sink takes all that is there: u reaches 0 where 0.1/u has no sign."""
    field = {
        "initial": "1 + cos(3*x)/2",
        "boundary": CLOSED,
        "equation": [
            {"block": "nonlinear-diffusion", "diffusivity": "0.1/u"},
            {"block": "constant", "coefficient": -1},
        ],
    }
    basis = {"kind": "elements", "size": 0.2, "order": 4}
    with pytest.raises(NumericsError, match=r"equation\[0\].*no step is short enough at t = 1\.02.*near \(.*\) u = -"):
        gleg.solve({"domain": INTERVAL, "basis": basis, "fields": {"u": field}, "time": {"end": 2}})


def test_gradients_pass_through_steps_on_elements() -> None:
    """The mass that is left of nonlinear diffusion through the ends, by its factor."""
    from gleg_core.spec.problem import load_problem
    from gleg_core.system.discretise import discretise
    from gleg_core.system.rollout import differentiable_rollout

    equation = [{"block": "nonlinear-diffusion", "diffusivity": "0.1 + u^2"}]
    field = {"initial": "sin(pi*x)", "boundary": [{"kind": "dirichlet"}], "equation": equation}
    basis, time = {"kind": "elements", "size": 0.25, "order": 3}, {"end": 0.1, "step": 0.02}
    made = discretise(load_problem({"domain": INTERVAL, "basis": basis, "fields": {"u": field}, "time": time}))
    method = made.problem.build(made.problem.integrator)

    def left(factor: torch.Tensor) -> torch.Tensor:
        system = made.system.scaled([factor])
        return system.moments(differentiable_rollout(system, method, made.initial[None], [0, 0.1], 0.02)[-1]).sum()

    factor = torch.ones(1, 1, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(left(factor), factor)
    with torch.no_grad():
        difference = (left(factor + 1e-5) - left(factor - 1e-5)) / 2e-5
    assert float(slope) == pytest.approx(float(difference), rel=1e-6)
