"""Ensembles and differentiable solutions on a local basis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from local_problems import DIFFUSION, loaded, one_field, points, solved

from gleg_core.errors import SpecError
from gleg_sweeps.ensembles import solve_together
from gleg_sweeps.solution_map import SolutionMap


def problem(d: float = 0.3, r: float = 1.0, a: float = 1.0, integrator: str = "imex-ark4") -> dict[str, Any]:
    equation = [
        {**DIFFUSION, "coefficient": d},
        {"block": "power", "coefficient": r},
        {"block": "power", "p": 3, "coefficient": -1},
    ]
    boundary = [
        {"kind": "dirichlet", "where": "left", "value": "t"},
        {"kind": "robin", "kappa": 2, "value": "sin(t)", "where": "rest"},
    ]
    time = {"end": 0.4, "step": 0.02, "integrator": integrator}
    return one_field(0.25, boundary, equation, f"{a}*x + y*x", time=time, output={"frames": 4})


@pytest.mark.parametrize("integrator", ["imex-ark4", "etdrk4"])
@pytest.mark.parametrize("varied", ["a", "r"])
def test_members_are_their_runs(varied: str, integrator: str) -> None:
    """Reaction rates that differ are explicit, in a run by itself they are implicit: the errors in time differ."""
    specs = [problem(**{varied: value}, integrator=integrator) for value in (1.0, 2.0, 3.0)]
    together = solve_together([loaded(s) for s in specs])
    values = together.evaluate("u", points(), 0.4)
    for i, alone in enumerate(map(solved, specs)):
        expected = alone.evaluate("u", points(), 0.4)
        assert np.allclose(values[i], expected, rtol=0, atol=1e-4 if varied == "r" else 1e-12)
        assert together[i].u(0.3, 0.4, 0.33) == pytest.approx(alone.u(0.3, 0.4, 0.33), abs=1e-4)
    assert together.dataset.u.sizes["member"] == 3


def test_diffusivities_cannot_differ() -> None:
    with pytest.raises(SpecError, match="cannot differ within a batch: operators on cells are factorised once"):
        solve_together([loaded(problem(d=d)) for d in (0.3, 0.2)])


@pytest.mark.parametrize("varied", ["initial", "data", "coefficients"])
def test_gradients_against_finite_differences(varied: str) -> None:
    flow = SolutionMap(loaded(problem()))
    start = {
        "initial": flow.initial,
        "data": torch.ones(1, dtype=torch.float64),
        "coefficients": torch.tensor([0.3, 1.0, -1.0], dtype=torch.float64),
    }[varied].clone()

    def loss(value: torch.Tensor) -> torch.Tensor:
        given = {varied: value}
        states = flow(**given)
        last = flow.values("u", states[-1], points(20), 0.4, data=given.get("data", 1.0))
        return (last**2).sum()

    variable = start.requires_grad_(True)
    (gradient,) = torch.autograd.grad(loss(variable), variable)
    direction = torch.randn(start.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        difference = (loss(start + 1e-5 * direction) - loss(start - 1e-5 * direction)) / 2e-5
    assert float(gradient @ direction) == pytest.approx(float(difference), rel=1e-6)
