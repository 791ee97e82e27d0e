"""Steps chosen by tolerance: with an embedded error estimate, and by step doubling for every other integrator."""

import numpy as np
import pytest
from test_manufactured import moving_boundary

import gleg
from gleg_core.errors import NumericsError


def adaptive(integrator: str, tolerance: float) -> gleg.Run:
    time = {"end": 1, "integrator": integrator, "tolerance": tolerance}
    boundary = [{"kind": "neumann", "data": "exact"}]
    return gleg.solve(moving_boundary(boundary, basis={"kind": "fourier", "K": 10}, time=time, output={"frames": 2}))


@pytest.mark.parametrize("integrator", ["exponential-adaptive", "imex-ark4", "etdrk4", "crank-nicolson"])
def test_the_error_follows_the_tolerance(integrator: str) -> None:
    errors, steps = [], []
    for tolerance in (1e-3, 1e-5):
        run = adaptive(integrator, tolerance)
        errors.append(run.metrics["relative_l2"]["max"])
        steps.append(run.trajectory.steps)
    assert errors[0] < 3e-2
    assert errors[1] < 3e-4
    assert errors[1] < errors[0] / 5
    assert steps[1] > steps[0]


def test_a_fast_transient_gets_small_steps_and_a_slow_tail_long_ones() -> None:
    """u_t = −50 (u − cos t) + 0.1 Δu … the layer at the start is 0.02 long, the run 5."""
    field = {
        "initial": 3,
        "boundary": [{"kind": "neumann"}],
        "equation": [
            {"block": "diffusion", "coefficient": 0.1},
            {"block": "power", "p": 3, "coefficient": -50},
            {"block": "source", "value": "50*cos(t)^3 - sin(t)"},
        ],
    }
    spec = {
        "domain": {"kind": "disk", "radius": 1},
        "basis": {"kind": "fourier", "K": 4},
        "fields": {"u": field},
        "time": {"end": 1.2, "integrator": "exponential-adaptive", "tolerance": 1e-6},
        "output": {"frames": 12},
    }
    run = gleg.solve(spec)
    assert run.u(0.1, 0.2, 1.2) == pytest.approx(np.cos(1.2), abs=1e-4)
    assert run.trajectory.steps < 2000


def test_blow_up_is_reported_with_its_time() -> None:
    """u_t = u² from u = 2 blows up at t = ½."""
    field = {
        "initial": 2,
        "boundary": [{"kind": "neumann"}],
        "equation": [{"block": "diffusion"}, {"block": "power", "p": 2}],
    }
    spec = {
        "domain": {"kind": "disk", "radius": 1},
        "basis": {"kind": "fourier", "K": 4},
        "fields": {"u": field},
        "time": {"end": 1, "integrator": "exponential-adaptive", "tolerance": 1e-6},
    }
    with pytest.raises(NumericsError, match=r"t = 0\.(49|5)"):
        gleg.solve(spec)


def test_automatic_steps_of_an_explicit_integrator_stay_stable() -> None:
    """Without a limit the error estimate lets unstable steps grow for a while and spikes before it reacts."""
    run = adaptive("rk4", 1e-4)
    limit = run.integrator.stable_step(run.discretisation.system)
    assert run.trajectory.longest <= limit
    assert max(run.metrics["fields"]["u"]["relative_l2"]["history"]) < 1e-4


def test_the_step_used_is_reported() -> None:
    """A step longer than the interval between saved states is shortened to it."""
    boundary = [{"kind": "neumann", "data": "exact"}]
    run = gleg.solve(moving_boundary(boundary, basis={"kind": "fourier", "K": 6}, time={"end": 1, "step": 0.3}))
    assert run.metrics["rollout"]["longest_step"] == pytest.approx(0.1)
