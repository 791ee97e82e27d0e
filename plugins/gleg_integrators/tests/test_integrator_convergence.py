"""Observed orders: nonstiff, stiff with compatible data, stiff with forcing that does not vanish on the boundary."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from integration_problems import (
    ENTRIES,
    VARIANTS,
    Problem,
    allen_cahn,
    convection,
    forced_oscillator,
    incompatible,
    integrator,
    label,
    run,
)

STIFF = [(name, params) for name, params in VARIANTS if ENTRIES[name].capabilities["stiff"]]


def observed_order(problem: Problem, name: str, params: dict[str, object], steps: int) -> float:
    method = integrator(name, **params)
    coarse, fine = (
        float((run(method, problem.system, problem.start, problem.end, n) - problem.reference).norm())
        for n in (steps, 2 * steps)
    )
    return math.log2(coarse / fine)


@pytest.mark.parametrize(("name", "params"), VARIANTS, ids=label)
def test_order_on_a_forced_nonlinear_system(name: str, params: dict[str, object]) -> None:
    order = observed_order(forced_oscillator(), name, params, 32)
    assert order == pytest.approx(ENTRIES[name].capabilities["order"], abs=0.2)
    assert integrator(name, **params).order == ENTRIES[name].capabilities["order"]


@pytest.mark.parametrize(("name", "params"), STIFF, ids=label)
def test_order_on_a_stiff_problem_with_compatible_data(name: str, params: dict[str, object]) -> None:
    order = observed_order(allen_cahn(), name, params, 100)
    assert order == pytest.approx(ENTRIES[name].capabilities["order"], abs=0.2)


@pytest.mark.parametrize("order", [2, 3, 4, 5])
@pytest.mark.parametrize("problem", [forced_oscillator, allen_cahn], ids=lambda f: f.__name__)
def test_order_of_backward_differentiation(problem: Callable[[], Problem], order: int) -> None:
    assert observed_order(problem(), "imex-bdf", {"order": order}, 100) == pytest.approx(order, abs=0.25)


def test_explicit_rk4_on_the_stiff_problem_needs_and_respects_its_step_limit() -> None:
    problem, method = allen_cahn(), integrator("rk4")
    limit = method.stable_step(problem.system)
    assert limit == pytest.approx(2.615e-4)
    z = run(method, problem.system, problem.start, problem.end, math.ceil(problem.end / limit))
    assert float((z - problem.reference).norm()) < 1e-8
    assert not bool(torch.isfinite(run(method, problem.system, problem.start, 200 * limit, 150)).all())


@pytest.mark.parametrize(
    ("name", "params", "least", "most"),
    [
        ("strang", {}, 1.1, 1.5),
        ("imex-ars443", {}, 2.0, 2.5),
        ("imex-ark4", {}, 2.0, 2.5),
        ("rosenbrock", {}, 3.8, 4.2),
        ("etdrk2", {}, 1.9, 2.1),
        ("etdrk4", {"scheme": "cox-matthews"}, 3.2, 3.7),
        ("etdrk4", {"scheme": "hochbruck-ostermann"}, 3.8, 4.2),
        ("exponential-adaptive", {}, 3.8, 4.2),
    ],
    ids=label,
)
def test_order_where_the_forcing_does_not_vanish_on_the_boundary(
    name: str, params: dict[str, object], least: float, most: float
) -> None:
    """Order reduction as the theory has it: the reason for the default scheme of etdrk4."""
    assert least < observed_order(incompatible(), name, params, 32) < most


def test_default_scheme_of_etdrk4_is_the_most_accurate_for_its_cost() -> None:
    """Gradient nonlinearity, forcing on the boundary, equally many evaluations of n: 4 stages × 80, 5 stages × 64."""
    problem = convection()

    def error(scheme: str, steps: int) -> float:
        z = run(integrator("etdrk4", scheme=scheme), problem.system, problem.start, problem.end, steps)
        return float((z - problem.reference).norm())

    default = error(integrator("etdrk4").params.scheme, 64)
    assert 2 * default < error("krogstad", 80)
    assert 8 * default < error("cox-matthews", 80)
