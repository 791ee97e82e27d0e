"""space.rank on elements: the smoothest functions, against known eigenvalues and against all of the elements."""

from typing import Any

import numpy as np
import pytest
from scipy.special import jn_zeros

import gleg

L_SHAPE = {"kind": "polygon", "vertices": [[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]]}
EIGENVALUES = [9.6397238440, 15.1972519265, 2 * np.pi**2]  # Betcke & Trefethen, SIAM Review 47 (2005)


def problem(domain: dict[str, Any], condition: dict[str, Any], rank: int | str, initial: str) -> dict[str, Any]:
    equation = [{"block": "diffusion", "twin": "analytic"}, {"block": "power", "p": 2, "coefficient": -1}]
    fields = {"u": {"initial": initial, "boundary": [condition], "equation": equation}}
    basis = {"kind": "elements", "order": 6}
    return {
        "domain": domain,
        "basis": basis,
        "space": {"rank": rank},
        "fields": fields,
        "time": {"end": 0.2},
        "output": {"frames": 1},
    }


def rates(run: Any) -> np.ndarray:
    return np.sort(-run.discretisation.system.linear.eigenvalues.numpy())


def test_the_first_eigenvalues_of_the_l_shape() -> None:
    run = gleg.solve(problem(L_SHAPE, {"kind": "dirichlet"}, 12, "x*y*(2 - x)*(2 - y)"))
    assert np.abs(rates(run)[:3] / EIGENVALUES - 1).max() < 1e-6


def test_robin_conditions_are_those_of_the_modes() -> None:
    """On the disk ν J_ν'… : the radial modes solve k J_1(k) = κ J_0(k); with κ = 0 they are the zeros of J_1."""
    run = gleg.solve(problem({"kind": "disk", "radius": 1}, {"kind": "robin", "kappa": 2}, 20, "1"))
    from scipy.optimize import brentq
    from scipy.special import j0, j1

    first = brentq(lambda k: k * j1(k) - 2 * j0(k), 0.1, jn_zeros(0, 1)[0])
    assert rates(run)[0] == pytest.approx(first**2, rel=1e-8)


def test_a_rollout_of_few_functions_is_that_of_all() -> None:
    initial = "sin(pi*x)*sin(pi*y) + 0.5*exp(-10*((x - 0.5)^2 + (y - 0.5)^2))*x*y*(2 - x)*(2 - y)"
    few, all_ = (gleg.solve(problem(L_SHAPE, {"kind": "dirichlet"}, rank, initial)) for rank in (80, "auto"))
    x, y = np.random.default_rng(0).uniform(0, 1, size=(2, 200))
    u, v = (run.u(x, y, 0.2) for run in (few, all_))
    assert np.linalg.norm(u - v) < 1e-4 * np.linalg.norm(v)


def test_nonlinear_diffusion_is_implicit() -> None:
    """(1 + u²)u' is constant in the end: u + u³/3 is linear. Steps are not bound by the smallest element."""
    ends = [{"kind": "dirichlet", "where": "left"}, {"kind": "dirichlet", "where": "right", "value": 3}]
    equation = [{"block": "nonlinear-diffusion", "diffusivity": "1 + u^2"}]
    fields = {"u": {"initial": "3*x", "boundary": ends, "equation": equation}}
    domain, basis = {"kind": "interval", "left": 0, "right": 1}, {"kind": "elements", "size": 0.02}
    run = gleg.solve({"domain": domain, "basis": basis, "fields": fields, "time": {"end": 2}, "output": {"frames": 2}})
    x = np.linspace(0.02, 0.98, 25)
    u = run.u(x, 2.0)
    assert np.abs(u + u**3 / 3 - 12 * x).max() < 1e-5
    assert run.trajectory.steps < 1000
