"""An accuracy alone chooses elements: errors against closed forms, and estimates against errors."""

import math
from typing import Any

import numpy as np
import pytest

import gleg

L_SHAPE = {"kind": "polygon", "vertices": [[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]]}
SINGULAR = "((x-1)^2+(y-1)^2)^(1/3)*sin(2/3*(atan2(1-y,1-x)+pi/2))"
DIFFUSION = [{"block": "diffusion", "twin": "analytic"}]


def error(run: Any, exact: Any, t: float) -> float:
    """‖u − exact‖ / ‖exact‖ at the nodes of the run's own cells, which are dense where it is rough."""
    cells = run.discretisation.basis.cells
    points = np.concatenate([c.points.reshape(-1, c.points.shape[-1]) for c in cells])
    weights = np.concatenate([c.weights.ravel() for c in cells])
    u, true = run.evaluate("u", points, t), exact(points)
    return math.sqrt(float(((u - true) ** 2 @ weights) / (true**2 @ weights)))


def singular(points: np.ndarray) -> np.ndarray:
    """r^{2/3} sin(2θ/3) about the re-entrant corner, harmonic, zero on its sides."""
    x, y = points.T - 1
    return np.hypot(x, y) ** (2 / 3) * np.sin(2 / 3 * np.mod(np.arctan2(y, x) - np.pi / 2, 2 * np.pi))


@pytest.mark.parametrize("accuracy", [1e-3, 1e-5])
def test_a_singular_solution_is_as_exact_as_asked(accuracy: float) -> None:
    fields = {"u": {"initial": 0, "boundary": [{"kind": "dirichlet", "value": SINGULAR}], "equation": DIFFUSION}}
    problem = {"domain": L_SHAPE, "fields": fields, "time": {"end": 8}, "output": {"frames": 2}, "accuracy": accuracy}
    run = gleg.solve(problem)
    true = error(run, singular, 8.0)
    assert true < accuracy
    assert run.choice.reached and true / 3 < run.choice.estimate < 30 * true


@pytest.mark.parametrize("peclet", [100, 1000])
def test_a_layer_is_found_and_resolved(peclet: float) -> None:
    """0 = u''/Pe − u': nothing that is given tells where the layer is."""
    ends = [{"kind": "dirichlet", "where": "left"}, {"kind": "dirichlet", "where": "right", "value": 1}]
    carried = {"block": "advection", "velocity": [1.0], "coefficient": -1}
    terms = [{**DIFFUSION[0], "coefficient": 1 / peclet}, carried]
    run = gleg.solve(
        {
            "domain": {"kind": "interval", "left": 0, "right": 1},
            "basis": {"kind": "elements"},
            "fields": {"u": {"initial": "x", "boundary": ends, "equation": terms}},
            "time": {"end": 4},
            "output": {"frames": 4},
            "accuracy": 1e-3,
        }
    )
    true = error(run, lambda p: np.exp(peclet * (p[:, 0] - 1)), 4.0)
    assert true < 1e-3 and run.choice.reached


def test_a_layer_in_a_square_is_found_and_resolved() -> None:
    """0 = Δu/Pe − u_x, u = sin πy where the wind leaves: X(x) sin πy, X a sum of two exponentials of rates r."""
    peclet = 100
    sides = [{"kind": "dirichlet", "where": "right", "value": "sin(pi*y)"}, {"kind": "dirichlet", "where": "rest"}]
    carried = {"block": "advection", "velocity": [1.0, 0.0], "coefficient": -1}
    terms = [{**DIFFUSION[0], "coefficient": 1 / peclet}, carried]
    run = gleg.solve(
        {
            "domain": {"kind": "rectangle", "x": [0, 1], "y": [0, 1]},
            "basis": {"kind": "elements"},
            "fields": {"u": {"initial": "x*sin(pi*y)", "boundary": sides, "equation": terms}},
            "time": {"end": 4},
            "output": {"frames": 4},
            "accuracy": 1e-3,
        }
    )
    root = math.sqrt(peclet**2 + 4 * math.pi**2)
    fast, slow = (peclet + root) / 2, (peclet - root) / 2

    def exact(points: np.ndarray) -> np.ndarray:
        x, y = points.T
        return (np.exp(fast * (x - 1)) - np.exp(slow * x - fast)) / (1 - np.exp(slow - fast)) * np.sin(np.pi * y)

    assert error(run, exact, 4.0) < 1e-3 and run.choice.reached


def test_a_front_that_forms_is_resolved() -> None:
    """Burgers' equation from −sin πx: a front as thin as 4ν forms at t = 1/π. The truth is Cole's and Hopf's."""
    nu, end = 1e-3, 0.5
    carried = {"block": "transport", "direction": "x", "coefficient": -1}
    terms = [{**DIFFUSION[0], "coefficient": nu}, carried]
    run = gleg.solve(
        {
            "domain": {"kind": "interval", "left": -1, "right": 1},
            "basis": {"kind": "elements"},
            "fields": {"u": {"initial": "-sin(pi*x)", "boundary": [{"kind": "dirichlet"}], "equation": terms}},
            "time": {"end": end},
            "output": {"frames": 5},
            "accuracy": 1e-3,
        }
    )

    def exact(points: np.ndarray) -> np.ndarray:
        y = points + np.linspace(-1.6, 1.6, 20_001)
        exponent = -np.cos(np.pi * y) / (2 * np.pi * nu) - (points - y) ** 2 / (4 * nu * end)
        weight = np.exp(exponent - exponent.max(axis=1, keepdims=True))
        return -(np.sin(np.pi * y) * weight).sum(axis=1) / weight.sum(axis=1)

    assert error(run, exact, end) < 1e-3 and run.choice.reached


@pytest.mark.parametrize("accuracy", [1e-3, 1e-5])
def test_a_start_that_does_not_fit_is_remembered(accuracy: float) -> None:
    """u = 1 at the start and 0 at the ends: a series of sines, soon after the start."""
    first = 0.002
    fields = {"u": {"initial": 1, "boundary": [{"kind": "dirichlet"}], "equation": DIFFUSION}}
    run = gleg.solve(
        {
            "domain": {"kind": "interval", "left": 0, "right": 1},
            "basis": {"kind": "elements"},
            "fields": fields,
            "time": {"end": 10 * first},
            "output": {"frames": 10},
            "accuracy": accuracy,
        }
    )
    k = np.arange(1, 300, 2) * np.pi
    true = error(run, lambda p: np.sin(p * k) @ (4 / k * np.exp(-(k**2) * first)), first)
    assert true < accuracy
    assert run.choice.reached and true / 3 < run.choice.estimate < 30 * true


def test_a_default_run_that_is_not_resolved_is_refined() -> None:
    """Boundary layers of width √(Dt) that no given function shows: u = erf(x / √(4Dt)) beside a straight edge."""
    from scipy.special import erf

    D, fields = 1e-4, {"u": {"initial": 1, "boundary": [{"kind": "dirichlet"}]}}
    fields["u"]["equation"] = [{**DIFFUSION[0], "coefficient": D}]
    run = gleg.solve({"domain": L_SHAPE, "fields": fields, "time": {"end": 1}, "output": {"frames": 2}})
    x = np.linspace(1e-4, 8e-2, 30)
    assert run.choice is not None
    assert np.abs(run.u(0.5, x, 1.0) - erf(x / 2 / math.sqrt(D))).max() < 1e-3


def test_stated_elements_that_do_not_resolve_are_warned_of() -> None:
    fields = {"u": {"initial": "sin(40*x)", "boundary": [{"kind": "neumann"}], "equation": [{"block": "power"}]}}
    problem = {
        "domain": {"kind": "interval", "left": 0, "right": 1},
        "basis": {"kind": "elements", "order": 2, "size": 0.25},
        "fields": fields,
        "time": {"end": 0.1},
        "output": {"frames": 1},
    }
    with pytest.warns(UserWarning, match="the solution leaves about"):
        gleg.solve(problem)
