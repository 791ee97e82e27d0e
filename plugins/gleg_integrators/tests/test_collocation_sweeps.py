"""Collocation with as many sweeps as each step needs: few for forcing, many where n depends on the state; and its error estimate."""

from __future__ import annotations

import cmath
import math

import pytest
import torch
from integration_problems import System, allen_cahn, integrator, reference
from torch import Tensor

from gleg_core.algebra.linear import DiagonalPart

EIGENVALUES = torch.tensor([0.0, -1.0, -10.0, -100.0, -1e4], dtype=torch.float64)


def counted(system: System) -> tuple[System, list[float]]:
    """The system, and a list that grows with every evaluation of n."""
    calls: list[float] = []

    def n(z: Tensor, t: float) -> Tensor:
        calls.append(t)
        return system.n(z, t)

    return System(system.linear, n), calls


def evaluations(system: System, start: Tensor, h: float, **params: object) -> tuple[int, Tensor, Tensor | None]:
    spy, calls = counted(system)
    z, error = integrator("exponential-collocation", **params).stepper(spy, h)(start, 0.0)
    return len(calls), z, error


def forced(frequency: float) -> System:
    """ż = λ z + cos(ωt + ½)."""
    return System(DiagonalPart(EIGENVALUES), lambda z, t: torch.full_like(z, math.cos(frequency * t + 0.5)))


def test_forcing_alone_takes_two_sweeps() -> None:
    """The second changes nothing, and says so."""
    start = torch.zeros(5, dtype=torch.float64)
    few, z, _ = evaluations(forced(3.0), start, 0.3, sweeps="auto")
    one, wanted, _ = evaluations(forced(3.0), start, 0.3, sweeps=1)
    assert few <= 2 * one
    torch.testing.assert_close(z, wanted, rtol=1e-13, atol=1e-15)


def test_a_reaction_takes_more_and_is_solved() -> None:
    problem = allen_cahn()
    used, z, error = evaluations(problem.system, problem.start, 0.04, sweeps="auto")
    forced_only, _, _ = evaluations(forced(3.0), torch.zeros(5, dtype=torch.float64), 0.3, sweeps="auto")
    true = float((z - reference(problem.system, problem.start, 0.04)).norm())
    assert used > forced_only
    assert error is not None and 0.3 * true < float(error.norm())
    _, finished, _ = evaluations(problem.system, problem.start, 0.04, sweeps=20)
    assert float((finished - z).norm()) < float(error.norm())


@pytest.mark.parametrize("h", [0.02, 0.1, 0.5])
def test_the_estimate_is_near_the_error_where_forcing_is_resolved(h: float) -> None:
    """At most some thousand times the error: an estimate from the last coefficient alone exceeds it by a millionfold."""
    frequency = 2.0
    start = (cmath.exp(0.5j) / (1j * frequency - EIGENVALUES)).real
    exact = (cmath.exp(1j * (frequency * h + 0.5)) / (1j * frequency - EIGENVALUES)).real
    z, error = integrator("exponential-collocation", stages=4).stepper(forced(frequency), h)(start, 0.0)
    true = float((z - exact).abs().max())
    assert error is not None
    assert 0.3 * true < float(error.max()) < 1e4 * max(true, 1e-15)


def test_forcing_too_fast_for_the_step_is_noticed() -> None:
    """cos(60t + ½) over a step of 0.5 has five periods; six points cannot see them. Without A the exact answer is (sin 30.5 − sin ½)/60."""
    z, error = integrator("exponential-collocation", sweeps="auto").stepper(forced(60.0), 0.5)(EIGENVALUES * 0, 0.0)
    true = abs(float(z[0]) - (math.sin(30.5) - math.sin(0.5)) / 60)
    assert true > 1e-2
    assert error is not None and float(error[0]) > 0.3 * true
