"""Observed order of every installed integrator on MMS-I and on a problem with moving boundary data.

The spatial error is removed by comparing with the same reduced system advanced with far smaller steps.
"""

from pathlib import Path

import numpy as np
import pytest
import torch
from test_manufactured import moving_boundary

import gleg
from gleg_core.contracts.integrator import Integrator
from gleg_core.registry import default_registry
from gleg_core.system.discretise import Discretisation, discretise
from gleg_core.system.rollout import rollout

EXAMPLE = Path(__file__).parents[1] / "examples" / "mms-1-rosette.yaml"
COLLOCATION = "integrators:exponential-collocation"
INTEGRATORS = sorted(key for key in default_registry().entries("integrator") if key != COLLOCATION)


def integrator_of(key: str) -> Integrator:
    registry = default_registry()
    component = registry.find("integrator", key)
    return registry.factory(component)(registry.params(component)())


def final_state(d: Discretisation, key: str, end: float, steps: int) -> torch.Tensor:
    return rollout(d.system, integrator_of(key), d.initial, [0.0, end], end / steps, 1e-6).states[-1]


def observed_order(d: Discretisation, key: str, end: float, steps: int) -> float:
    reference = final_state(d, "etdrk4", end, 16 * steps)
    coarse, fine = (float((final_state(d, key, end, n) - reference).norm()) for n in (steps, 2 * steps))
    return float(np.log2(coarse / fine))


@pytest.fixture(scope="module")
def rosette() -> Discretisation:
    return discretise(gleg.load(EXAMPLE, {"basis": {"K": 10}}))


@pytest.mark.parametrize("key", INTEGRATORS)
def test_order_on_the_rosette(rosette: Discretisation, key: str) -> None:
    order = observed_order(rosette, key, end=0.2, steps=48)
    assert order == pytest.approx(integrator_of(key).order, abs=0.2)


def test_collocation_is_of_the_order_of_its_points_where_there_is_mostly_forcing(rosette: Discretisation) -> None:
    """Its sweeps converge at once there: at least order 2m − 2 = 10 of 6 Gauss–Lobatto points but for what stiffness takes away, with
    steps of a tenth where the others have hundredths. An independent method with a thousand steps is the reference."""
    reference = final_state(rosette, "exponential-adams6", 0.2, 1000)
    errors = [float((final_state(rosette, COLLOCATION, 0.2, n) - reference).norm()) for n in (1, 2)]
    assert errors[1] < 1e-6 * float(reference.norm())
    assert np.log2(errors[0] / errors[1]) > 9.0


@pytest.mark.parametrize("kind", ["dirichlet", "robin"])
def test_collocation_with_moving_data(kind: str) -> None:
    """Six sweeps: order 6, which stiffness and the nonlinear reaction approach from below as steps get shorter."""
    d = moving(kind, "steady")
    reference = final_state(d, "exponential-adams6", 0.4, 1000)
    coarse, fine = (float((final_state(d, COLLOCATION, 0.4, n) - reference).norm()) for n in (4, 8))
    assert 5.2 < np.log2(coarse / fine) < 6.2
    assert fine < 1e-8


def moving(kind: str, lift: str) -> Discretisation:
    boundary = [{"kind": kind, "data": "exact", **({"kappa": 2} if kind == "robin" else {})}]
    return discretise(gleg.load(moving_boundary(boundary, space={"lift": lift}, basis={"kind": "fourier", "K": 8})))


@pytest.mark.parametrize("kind", ["dirichlet", "neumann", "robin"])
def test_order_is_not_reduced_by_the_lift(kind: str) -> None:
    assert observed_order(moving(kind, "steady"), "etdrk4", end=0.4, steps=16) == pytest.approx(4.0, abs=0.2)


def test_lifts_differ_in_time_error_only() -> None:
    """All lifts span one affine space; with the steady one the same steps are far more accurate."""
    steady, other = moving("dirichlet", "steady"), moving("dirichlet", "mass-minimal")
    points = torch.rand(50, 2, dtype=torch.float64) * 0.2 + torch.tensor([0.3, -0.3], dtype=torch.float64)

    def values(d: Discretisation, steps: int) -> torch.Tensor:
        return d.basis.evaluate(d.system.coefficients("u", final_state(d, "etdrk4", 0.4, steps), 0.4), points)

    reference = values(steady, 256)
    assert float((values(other, 256) - reference).abs().max()) < 1e-9
    slow, fast = (float((values(d, 8) - reference).abs().max()) for d in (other, steady))
    assert fast < slow / 10
