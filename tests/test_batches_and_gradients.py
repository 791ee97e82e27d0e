"""The reduced system on batches of states, and gradients through responses and rollouts."""

import pytest
import torch
from test_manufactured import moving_boundary
from test_temporal_order import integrator_of

import gleg
from gleg_core.system.discretise import Discretisation, discretise


@pytest.fixture(scope="module")
def problem() -> Discretisation:
    boundary = [{"kind": "robin", "kappa": 2, "data": "exact"}]
    spec = moving_boundary(boundary, basis={"kind": "fourier", "K": 6})
    spec["fields"]["u"]["equation"].append({"block": "transport", "direction": "x", "coefficient": -0.3})
    spec["fields"]["u"]["equation"].append({"block": "power", "coefficient": "cos(t)"})
    return discretise(gleg.load(spec))


def states(d: Discretisation, *shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(3)
    return d.initial + 0.1 * torch.randn(*shape, d.system.size, dtype=torch.float64, generator=generator)


def test_a_batch_is_its_states_one_by_one(problem: Discretisation) -> None:
    z = states(problem, 2, 3)
    together = problem.system.rhs(z, 0.3)
    assert together.shape == z.shape
    for i in range(2):
        for j in range(3):
            alone = problem.system.rhs(z[i, j], 0.3)
            assert torch.allclose(together[i, j], alone, rtol=1e-12, atol=1e-12 * float(alone.abs().max()))


def test_every_state_may_have_its_own_time(problem: Discretisation) -> None:
    """Moving data, a coefficient c(t), forcing and a nonlinear term, more states than are evaluated at once."""
    z, times = states(problem, 70), torch.linspace(0.0, 0.5, 70, dtype=torch.float64)[:, None]
    together = problem.system.nonlinear(z, times)
    for state, t, response in zip(z[::10], times[::10], together[::10], strict=True):
        alone = problem.system.nonlinear(state, float(t))
        assert torch.allclose(response, alone, rtol=0, atol=1e-12 * float(alone.abs().max()))


def test_empty_batch(problem: Discretisation) -> None:
    assert problem.system.rhs(states(problem, 0), 0.1).shape == (0, problem.system.size)


def test_gradient_of_the_response(problem: Discretisation) -> None:
    z = states(problem).requires_grad_(True)
    direction = states(problem, 2)[1] - problem.initial
    value = (problem.system.nonlinear(z, 0.2) * direction).sum()
    (gradient,) = torch.autograd.grad(value, z)
    step = 1e-5 * direction
    with torch.no_grad():
        difference = (problem.system.nonlinear(z + step, 0.2) - problem.system.nonlinear(z - step, 0.2)) / 2e-5
    assert float(gradient @ direction) == pytest.approx(float(difference @ direction), rel=1e-7)


@pytest.mark.parametrize("method", ["etdrk4", "exponential-collocation"])
def test_gradient_through_a_rollout(problem: Discretisation, method: str) -> None:
    step = integrator_of(method).stepper(problem.system, 0.02)

    def energy(z: torch.Tensor) -> torch.Tensor:
        for n in range(5):
            z, _ = step(z, 0.02 * n)
        return 0.5 * (z**2).sum()

    z = states(problem).requires_grad_(True)
    direction = states(problem, 2)[0] - problem.initial
    (gradient,) = torch.autograd.grad(energy(z), z)
    with torch.no_grad():
        difference = (energy(z + 1e-5 * direction) - energy(z - 1e-5 * direction)) / 2e-5
    assert float(gradient @ direction) == pytest.approx(float(difference), rel=1e-6)


def test_collocation_steps_a_batch_as_its_states(problem: Discretisation) -> None:
    """A batch has its stages one after the other, a single state all at once."""
    step = integrator_of("exponential-collocation").stepper(problem.system, 0.05)
    z = states(problem, 3)
    with torch.no_grad():
        together, _ = step(z, 0.1)
        for state, moved in zip(z, together, strict=True):
            alone, _ = step(state, 0.1)
            assert torch.allclose(moved, alone, rtol=0, atol=1e-12 * float(alone.abs().max()))


def test_no_graph_is_kept_without_gradients(problem: Discretisation) -> None:
    assert not problem.system.rhs(states(problem), 0.0).requires_grad
