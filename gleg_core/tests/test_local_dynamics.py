"""Runs on local spaces against exact solutions, and integrators against scipy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg
import torch
from local_problems import (
    DIFFUSION,
    L_SHAPE,
    SQUARE,
    dense,
    discretised,
    errors,
    integral,
    one_field,
    points,
    registry,
    solved,
    spec,
)
from scipy.integrate import solve_ivp

from gleg_core.contracts.integrator import Integrator
from gleg_core.solver import solve
from gleg_core.spec.problem import load_problem
from gleg_core.system.discretise import Discretisation
from gleg_core.system.rollout import rollout

NEUMANN = [{"kind": "neumann"}]
EXACT = "exp(-t)*sin(2*x + y) + 0.5*cos(3*t + x - 2*y)"
CONDITIONS = {
    "dirichlet": [{"kind": "dirichlet", "data": "exact"}],
    "neumann": [{"kind": "neumann", "data": "exact"}],
    "robin": [{"kind": "robin", "kappa": "2 + x", "data": "exact"}],
    "mixed": [
        {"kind": "dirichlet", "where": "left", "data": "exact"},
        {"kind": "robin", "kappa": "1 + y", "where": "right", "data": "exact"},
        {"kind": "neumann", "where": "rest", "data": "exact"},
    ],
}
REACTIONS = [
    {**DIFFUSION, "coefficient": 0.3},
    {"block": "power"},
    {"block": "power", "p": 3, "coefficient": -1},
]
VARYING = [
    {**DIFFUSION, "coefficient": "0.2*(1 + 0.5*sin(t))"},
    {"block": "variable-diffusion", "diffusivity": "0.1 + 0.05*x*y"},
    {"block": "advection", "velocity": ["sin(t) + y", "x"]},
    {"block": "advection", "velocity": ["y*y", "x"]},
    {"block": "power", "coefficient": "x"},
    {"block": "power", "coefficient": "x*t"},
    {"block": "power", "p": 2, "coefficient": "cos(t + y)"},
    {"block": "transport", "direction": "y", "coefficient": -0.3},
]


def manufactured(h: float, boundary: Any, equation: Any = REACTIONS, exact: str = EXACT, **keys: Any) -> dict[str, Any]:
    field = {"exact": exact, "forcing": "manufactured"}
    keys = {"time": {"end": 0.4, "step": 0.02, "integrator": "imex-ark4"}, **keys}
    return one_field(h, boundary, equation, field=field, **keys)


def orders(coarse: list[float], fine: list[float]) -> list[float]:
    return np.log2(np.array(coarse) / np.array(fine)).tolist()


@pytest.mark.parametrize("kind", CONDITIONS)
def test_third_order_with_moving_data(kind: str) -> None:
    coarse, fine = (errors(solved(manufactured(h, CONDITIONS[kind])), 0.4) for h in (1 / 4, 1 / 8))
    assert fine[0] < 2e-4
    assert orders(coarse, fine)[0] > 2.8


@pytest.mark.parametrize("kind", ["dirichlet", "robin"])
def test_coefficients_that_vary_in_space_in_time_and_in_both(kind: str) -> None:
    coarse, fine = (errors(solved(manufactured(h, CONDITIONS[kind], VARYING)), 0.4) for h in (1 / 4, 1 / 8))
    assert fine[0] < 2e-4
    assert orders(coarse, fine)[0] > 2.8


def test_a_domain_with_a_corner() -> None:
    """A polynomial of degree two is in the space, corner or not: what is left is the error in time."""
    problem = manufactured(0.25, CONDITIONS["robin"], exact="1 + x*t - y^2*exp(-t)", domain=L_SHAPE)
    assert errors(solved(problem), 0.4)[0] < 1e-6


def test_nonlinear_diffusion_with_steps_chosen_by_tolerance() -> None:
    equation = [{"block": "nonlinear-diffusion", "diffusivity": "0.1 + 0.1*u^2"}]
    time = {"end": 0.2, "tolerance": 1e-6, "integrator": "imex-ark4"}
    coarse, fine = (
        errors(solved(manufactured(h, CONDITIONS["robin"], equation, "exp(-t)*cos(x + y)", time=time)), 0.2)
        for h in (1 / 4, 1 / 8)
    )
    assert orders(coarse, fine)[0] > 2.8


def coupled(h: float, steady: bool) -> list[float]:
    """A field carried by the stream of another, which is prescribed on ∂Ω and solved for at every instant, or evolves."""
    fields = {
        "u": {
            "exact": "1 + 0.3*sin(2*x + t)*cos(y)",
            "forcing": "manufactured",
            "boundary": [{"kind": "robin", "kappa": 1, "data": "exact"}],
            "equation": [
                {**DIFFUSION, "coefficient": 0.1},
                {**DIFFUSION, "of": "psi", "coefficient": 0.02},
                {"block": "product", "powers": {"u": 1, "psi": 1}},
                {"block": "stream-advection", "stream": "psi", "coefficient": -1},
            ],
        },
        "psi": {
            "exact": "x*y*cos(t) + 0.2*exp(x)",
            "forcing": "manufactured",
            "steady": steady,
            "boundary": [{"kind": "dirichlet", "data": "exact"}],
            "equation": [DIFFUSION, {"block": "power", "coefficient": -2}, {"block": "power", "of": "u"}],
        },
    }
    run = solved(spec(h, fields, time={"end": 0.4, "step": 0.02, "integrator": "imex-ark4"}))
    return errors(run, 0.4, ("u", "psi"))


@pytest.mark.parametrize("steady", [True, False])
def test_two_fields_with_different_conditions(steady: bool) -> None:
    coarse, fine = coupled(1 / 4, steady), coupled(1 / 8, steady)
    assert max(fine) < 1e-4
    assert min(orders(coarse, fine)) > 2.8


def test_agrees_with_fourier_functions() -> None:
    """Burgers' equation with diffusion, learned blocks, Robin conditions: global functions and local ones."""
    field = {
        "initial": "cos(2*x)*cos(3*y)",
        "boundary": [{"kind": "robin", "kappa": 1, "value": "0.2*t"}],
        "equation": [
            {"block": "diffusion", "coefficient": 0.2},
            {"block": "transport", "direction": "x", "coefficient": -1},
        ],
    }
    time = {"end": 0.3, "step": 0.01, "integrator": "imex-ark4"}
    local = solved(spec(1 / 16, {"u": field}, time=time))
    problem = {"domain": SQUARE, "basis": {"kind": "fourier", "K": 14}, "fields": {"u": field}, "time": time}
    fourier = solve(load_problem(problem, registry=registry()))
    u, v = (run.evaluate("u", points(), 0.3) for run in (local, fourier))
    assert np.abs(u - v).max() < 3e-4 * np.abs(v).max()


# --- limits and what is conserved -----------------------------------------------------------------------------------


@pytest.mark.parametrize("integrator", ["imex-ark4", "imex-ars443", "etdrk4"])
def test_steady_limits(integrator: str) -> None:
    """Harmonic data that the space holds; and a flux that balances a sink, u = x² up to a constant that the initial mean decides."""
    time = {"end": 6, "step": 0.25, "integrator": integrator}
    run = solved(one_field(0.25, [{"kind": "dirichlet", "value": "1 + x*y - 2*x"}], time=time))
    x, y = points().T
    assert np.allclose(run.evaluate("u", points(), 6.0), 1 + x * y - 2 * x, rtol=0, atol=1e-8)
    sink = [DIFFUSION, {"block": "constant", "coefficient": -2}]
    boundary = [{"kind": "neumann", "value": 2, "where": "right"}, {"kind": "neumann", "where": "rest"}]
    run = solved(one_field(0.25, boundary, sink, time=time))
    assert np.allclose(run.evaluate("u", points(), 6.0), x**2 - 1 / 3, rtol=0, atol=1e-8)


@pytest.mark.parametrize("integrator", ["imex-ark4", "crank-nicolson", "midpoint", "etdrk4"])
def test_mass_is_conserved_where_nothing_flows(integrator: str) -> None:
    """To rounding, by diffusion and by a flow that does not cross ∂Ω: Ψ = x(1 − x) y(1 − y)."""
    flow = {"block": "stream-advection", "background": "x*(1 - x)*y*(1 - y)", "coefficient": -3}
    time = {"end": 0.2, "step": 0.01, "integrator": integrator}
    run = solved(
        one_field(0.125, NEUMANN, [{**DIFFUSION, "coefficient": 0.1}, flow], initial="1 + x + x*y^3", time=time)
    )
    assert abs(integral(run, 0.2) - integral(run, 0.0)) < 1e-12
    assert integral(run, 0.0) == pytest.approx(1 + 1 / 2 + 1 / 8, rel=1e-12)


@pytest.mark.parametrize("rate", [1.0, 0.5, 3.7])
def test_growth_at_the_rate_of_the_lift(rate: float) -> None:
    """u_t = Δu + r u with an inflow of one: the mass obeys m' = r m + 4, also where r = 1/duration makes K − σM singular."""
    time = {"end": 1 / rate, "step": 0.02 / rate, "integrator": "imex-ark4"}
    equation = [DIFFUSION, {"block": "power", "coefficient": rate}]
    run = solved(one_field(0.25, [{"kind": "neumann", "value": 1}], equation, initial=1, time=time))
    assert integral(run, 1 / rate) == pytest.approx((1 + 4 / rate) * np.e - 4 / rate, rel=1e-7)


def test_a_mechanism_that_is_not_local() -> None:
    """u_t = Δu − 2 mean(u): the mean decays at the rate 2, everything else as heat."""
    equation = [DIFFUSION, {"block": "mean", "coefficient": -2}]
    run = solved(
        one_field(1 / 8, NEUMANN, equation, "1 + cos(pi*x)", time={"end": 0.2, "step": 0.01, "integrator": "imex-ark4"})
    )
    expected = np.exp(-0.4) + np.exp(-0.2 * np.pi**2) * np.cos(np.pi * points()[:, 0])
    assert np.allclose(run.evaluate("u", points(), 0.2), expected, rtol=0, atol=3e-4)
    assert integral(run, 0.2) == pytest.approx(np.exp(-0.4), abs=1e-7)


# --- time -------------------------------------------------------------------------------------------------------------


def integrator_of(key: str) -> Integrator:
    component = registry().find("integrator", key)
    return registry().factory(component)(registry().params(component)())


@pytest.fixture(scope="module")
def small() -> Discretisation:
    """Moving data, an advection that makes A nonsymmetric, a nonlinear reaction, forcing; 25 unknowns that are hardly stiff."""
    turning = {"block": "advection", "velocity": ["0.5 - y", "x - 0.5"]}
    equation = [{**DIFFUSION, "coefficient": 0.03}, turning, {"block": "power", "p": 3, "coefficient": -1}]
    return discretised(manufactured(0.5, CONDITIONS["robin"], equation))


@pytest.fixture(scope="module")
def by_scipy(small: Discretisation) -> np.ndarray:
    def rate(t: float, z: np.ndarray) -> np.ndarray:
        return small.system.rhs(torch.from_numpy(z), t).numpy()

    return solve_ivp(rate, (0, 0.4), small.initial.numpy(), "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]


ORDERS = {
    "crank-nicolson": 2, "midpoint": 2, "strang": 2, "imex-ars443": 3, "imex-ark4": 4, "rk4": 4, "etdrk2": 2, "etdrk4": 4,
    "exponential-adams4": 4, "exponential-adaptive": 4, "imex-bdf": 4,
}  # fmt: skip


@pytest.mark.parametrize("key", ORDERS)
def test_order_in_time(small: Discretisation, by_scipy: np.ndarray, key: str) -> None:
    def error(steps: int) -> float:
        z = rollout(small.system, integrator_of(key), small.initial, [0.0, 0.4], 0.4 / steps, 1e-6).states[-1]
        return float(np.abs(z.numpy() - by_scipy).max())

    coarse, fine = error(16), error(32)
    assert np.log2(coarse / fine) == pytest.approx(ORDERS[key], abs=0.35)


@pytest.mark.parametrize("key", ["imex-ark4", "exponential-adaptive", "exponential-collocation", "rk4"])
def test_steps_chosen_by_tolerance(small: Discretisation, by_scipy: np.ndarray, key: str) -> None:
    t = rollout(small.system, integrator_of(key), small.initial, [0.0, 0.4], None, 1e-7)
    assert float(np.abs(t.states[-1].numpy() - by_scipy).max()) < 1e-5
    assert t.steps < 150  # the first step is no longer than data allow, but no tiny one


@pytest.mark.parametrize("lift", ["steady", "minimum-norm"])
def test_first_steps_are_not_tiny_where_data_move(lift: str) -> None:
    """The state is smooth and fits the data: refining the mesh must not shorten the steps."""
    time = {"end": 0.4, "tolerance": 1e-5, "integrator": "imex-ark4"}
    taken = [
        solved(
            manufactured(h, CONDITIONS["dirichlet"], time=time, space={"lift": lift}, output={"frames": 1})
        ).trajectory.steps
        for h in (1 / 4, 1 / 16)
    ]
    limit = {"steady": 40, "minimum-norm": 400}[lift]  # B θ grows as cells shrink: what the steady lift is for
    assert max(taken) < limit


@pytest.mark.parametrize("equation", ["symmetric", "turning"])
def test_functions_of_the_operator(equation: str) -> None:
    """φ_k(hA) and (I − gA)⁻¹ of rows against scipy, from slow modes to stiff ones."""
    turning = {"block": "advection", "velocity": ["0.5 - y", "x - 0.5"], "coefficient": 20}
    d = discretised(one_field(0.25, NEUMANN, [DIFFUSION, *([turning] if equation == "turning" else [])]))
    part, z = d.system.linear, torch.randn(2, 3, 81, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    A = dense(part.apply, part.size)
    for h in (1e-4, 0.1):
        expected = z.numpy() @ np.linalg.inv(np.eye(81) - h * A).T
        assert np.allclose(part.resolvent(h)(z).numpy(), expected, rtol=0, atol=1e-10)
        for k in range(4):  # φ_k is the corner of the exponential of an augmented matrix
            whole = np.zeros((81 * (k + 1),) * 2)
            whole[:81, :81] = h * A
            for i in range(k):
                whole[81 * i : 81 * (i + 1), 81 * (i + 1) : 81 * (i + 2)] = np.eye(81)
            expected = z.numpy() @ scipy.linalg.expm(whole)[:81, -81:].T
            assert np.allclose(part.phi(k, h)(z).numpy(), expected, rtol=0, atol=1e-8)
    assert part.phi(1, 0.1)(torch.zeros(81, dtype=torch.float64)).abs().max() == 0
    for operator in (part.apply, part.resolvent(0.1), part.phi(1, 0.1)):
        assert operator(z[:0]).shape == (0, 3, 81)
