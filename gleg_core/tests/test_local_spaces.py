"""Local spaces against matrices assembled by other means: mass and stiffness, conditions of every kind, lifts, projections."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import torch
from local_problems import DIFFUSION, L_SHAPE, dense, discretised, one_field, points, rates, solved
from quadratic_matrices import places, rim, square
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

N = 4
DIRICHLET, NEUMANN = [{"kind": "dirichlet"}], [{"kind": "neumann"}]


def on_sides(*sides: str) -> np.ndarray:
    """Mask of the functions that do not vanish on some sides of the square."""
    x, y = places(N).T
    masks = {"left": x == 0, "right": x == 1, "bottom": y == 0, "top": y == 1}
    return np.any([masks[side] for side in sides], axis=0)


def reference_rates(K: np.ndarray, M: np.ndarray, T: np.ndarray | None = None) -> np.ndarray:
    T = np.eye(len(M)) if T is None else T
    return scipy.linalg.eigh(T.T @ K @ T, T.T @ M @ T, eigvals_only=True)


def test_mass_and_stiffness() -> None:
    part = discretised(one_field(1 / N, NEUMANN)).system.linear
    K, M = square(N)
    assert np.allclose(part.mass.matrix.toarray(), M, rtol=0, atol=1e-15)
    assert np.allclose(part.stiffness.matrix.toarray(), -K, rtol=0, atol=1e-13)
    assert part.symmetric


def test_conditions_on_values_leave_out_functions() -> None:
    K, M = square(N)
    inside = np.flatnonzero(~on_sides("left", "right", "bottom", "top"))
    part = discretised(one_field(1 / N, DIRICHLET)).system.linear
    assert np.allclose(part.mass.matrix.toarray(), M[np.ix_(inside, inside)], rtol=0, atol=1e-15)
    assert np.allclose(part.stiffness.matrix.toarray(), -K[np.ix_(inside, inside)], rtol=0, atol=1e-13)


def test_robin_with_a_varying_coefficient() -> None:
    K, M = square(N)
    expected = reference_rates(K + rim(N, lambda x, y: 1 + x + y * y), M)
    found = rates(discretised(one_field(1 / N, [{"kind": "robin", "kappa": "1 + x + y^2"}])))
    assert np.allclose(found, expected, rtol=1e-11)


def test_mixed_conditions_and_the_corner_where_they_meet() -> None:
    K, M = square(N)
    free = np.eye(len(M))[:, ~on_sides("left")]
    expected = reference_rates(K + rim(N, lambda x, y: 2 + 0 * x, "top"), M, free)
    boundary = [
        {"kind": "dirichlet", "where": "left"},
        {"kind": "robin", "kappa": 2, "where": "top"},
        {"kind": "neumann", "where": "rest"},
    ]
    assert np.allclose(rates(discretised(one_field(1 / N, boundary))), expected, rtol=1e-11)


def test_an_unknown_constant_on_the_rim_of_a_hole() -> None:
    """One function takes the place of all that touch the hole; test functions see the net flux, which is zero."""
    hole = [(1, 1), (1, 2), (2, 1), (2, 2)]
    K, M = square(N, without=hole)
    x, y = places(N).T
    inside = (abs(x - 0.5) < 0.25) & (abs(y - 0.5) < 0.25)
    touches = (abs(x - 0.5) <= 0.25) & (abs(y - 0.5) <= 0.25) & ~inside
    free = ~(inside | touches | on_sides("left", "right", "bottom", "top"))
    T = np.column_stack([np.eye(len(M))[:, free], touches])
    domain = {
        "kind": "polygon",
        "vertices": [[0, 0], [1, 0], [1, 1], [0, 1]],
        "holes": [[[0.25, 0.25], [0.75, 0.25], [0.75, 0.75], [0.25, 0.75]]],
    }
    boundary = [{"kind": "dirichlet", "where": "boundary"}, {"kind": "floating", "where": "rest"}]
    found = rates(discretised(one_field(1 / N, boundary, domain=domain)))
    assert np.allclose(found, reference_rates(K, M, T), rtol=1e-11)


def closed_form(kind: str) -> np.ndarray:
    """The six slowest rates of heat in a unit square."""
    n = np.arange(8)
    sine, cosine = (np.pi * (n + 1)) ** 2, (np.pi * n) ** 2
    half = (np.pi * (n + 0.5)) ** 2
    roots = [brentq(lambda s: s * np.sin(s) - 2 * np.cos(s), np.pi * k, np.pi * (k + 0.5)) for k in n]
    robin = np.array(roots) ** 2  # u' = 0 at one end, u' = −2u at the other
    along = {"dirichlet": (sine, sine), "neumann": (cosine, cosine), "mixed": (half, robin)}[kind]
    return np.sort(np.add.outer(*along).ravel())[:6]


CONDITIONS = {
    "dirichlet": DIRICHLET,
    "neumann": NEUMANN,
    "mixed": [
        {"kind": "dirichlet", "where": "left"},
        {"kind": "robin", "kappa": 2, "where": "top"},
        {"kind": "neumann", "where": "rest"},
    ],
}


@pytest.mark.parametrize("kind", CONDITIONS)
def test_decay_rates_converge_with_the_fourth_power_of_the_spacing(kind: str) -> None:
    coarse, fine = (rates(discretised(one_field(h, CONDITIONS[kind])))[:6] - closed_form(kind) for h in (1 / 8, 1 / 16))
    assert np.all(fine > -1e-9)  # from above, as of every Galerkin method
    assert np.all(fine < 0.03)
    moving = np.abs(coarse) > 1e-9
    assert np.all(np.log2(coarse[moving] / fine[moving]) > 3.7)


def test_learned_diffusion_is_the_analytic_one() -> None:
    learned, analytic = (
        rates(discretised(one_field(1 / N, NEUMANN, [b]))) for b in ({"block": "diffusion"}, DIFFUSION)
    )
    assert np.allclose(learned, analytic, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("lift", ["steady", "minimum-norm"])
def test_moving_data_on_the_rim_against_an_independent_solution(lift: str) -> None:
    """M_II u̇ = −K_II u − K_IB g − M_IB ġ with g = sin(3t) x + t² y², which quadratic traces hold exactly."""
    K, M = square(N)
    rim_functions = on_sides("left", "right", "bottom", "top")
    I, B = np.flatnonzero(~rim_functions), np.flatnonzero(rim_functions)  # noqa: E741
    x, y = places(N)[B].T
    inverse = np.linalg.inv(M[np.ix_(I, I)])

    def rate(t: float, u: np.ndarray) -> np.ndarray:
        g, slope = np.sin(3 * t) * x + t**2 * y**2, 3 * np.cos(3 * t) * x + 2 * t * y**2
        return -inverse @ (K[np.ix_(I, I)] @ u + K[np.ix_(I, B)] @ g + M[np.ix_(I, B)] @ slope)

    end = 0.3
    expected = solve_ivp(rate, (0, end), np.zeros(len(I)), "Radau", rtol=1e-10, atol=1e-12).y[:, -1]
    problem = one_field(
        1 / N,
        [{"kind": "dirichlet", "value": "sin(3*t)*x + t^2*y^2"}],
        space={"lift": lift},
        time={"end": end, "tolerance": 1e-9, "integrator": "exponential-adaptive"},
    )
    run = solved(problem)
    found = run.discretisation.system.coefficients("u", run.state(end), end).numpy()
    assert np.allclose(found[I], expected, rtol=0, atol=1e-7)
    assert np.allclose(found[B], np.sin(3 * end) * x + end**2 * y**2, rtol=0, atol=1e-9)


def test_data_jump_between_segments() -> None:
    """1 on the left, 0 elsewhere: the steady state is that of a plate, and its middle has a quarter of the data by symmetry."""
    boundary = [{"kind": "dirichlet", "where": "left", "value": 1}, {"kind": "dirichlet", "where": "rest"}]
    run = solved(one_field(1 / 8, boundary, time={"end": 4, "step": 0.1, "integrator": "imex-ark4"}))
    assert run.u(0.5, 0.5, 4.0) == pytest.approx(0.25, abs=2e-3)


def test_initial_states_are_projections() -> None:
    """‖u‖ and coordinates of x + y², which is in the space: ∫(x + y²)² = 13/15."""
    d = discretised(one_field(1 / N, NEUMANN, initial="x + y^2"))
    assert np.allclose(d.initial.numpy(), places(N)[:, 0] + places(N)[:, 1] ** 2, rtol=0, atol=1e-12)
    assert float(d.system.norm(d.initial)) == pytest.approx((13 / 15) ** 0.5, rel=1e-13)
    assert float(d.system.moments(d.initial) @ d.initial) == pytest.approx(13 / 15, rel=1e-13)


def test_projection_of_many_functions_by_the_basis_alone() -> None:
    basis = discretised(one_field(1 / N, NEUMANN)).basis
    x, y = places(N).T

    def functions(p: torch.Tensor) -> torch.Tensor:
        return torch.stack([p[:, 0] * p[:, 1], 1 + 0 * p[:, 0]])

    assert np.allclose(basis.project(functions).numpy(), [x * y, np.ones_like(x)], rtol=0, atol=1e-12)
    assert np.allclose(basis.project(lambda p: p[:, 1] ** 2).numpy(), y**2, rtol=0, atol=1e-12)


def test_values_and_slopes_anywhere() -> None:
    run = solved(one_field(0.25, NEUMANN, domain=L_SHAPE, initial="x*y - 2*x^2"))
    here = points()
    values, slopes = (run.evaluate("u", here, 0.0, alpha) for alpha in (None, (0, 1)))
    outside = (here > 0.5).all(axis=1)
    assert np.isnan(values[outside]).all() and outside.any()
    x, y = here[~outside].T
    assert np.allclose(values[~outside], x * y - 2 * x**2, rtol=0, atol=1e-12)
    assert np.allclose(slopes[~outside], x, rtol=0, atol=1e-11)


def test_the_spectral_radius_is_not_underestimated() -> None:
    """Explicit methods take it as the limit of their steps."""
    turning = {"block": "advection", "velocity": ["0.5 - y", "x - 0.5"], "coefficient": 30}
    for boundary, equation in (
        (DIRICHLET, [DIFFUSION]),
        (NEUMANN, [DIFFUSION, turning]),
        ([{"kind": "free"}], [turning]),
    ):
        part = discretised(one_field(1 / 8, boundary, equation)).system.linear
        largest = np.abs(np.linalg.eigvals(dense(part.apply, part.size))).max()
        assert largest <= part.radius <= 1.1 * largest
