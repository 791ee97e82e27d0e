"""What local spaces refuse, and how; batches of states and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from local_problems import DIFFUSION, discretised, one_field, registry, solved, spec
from test_local_dynamics import CONDITIONS, NEUMANN, integrator_of, manufactured

from gleg_core.errors import NumericsError, SpecError
from gleg_core.system.discretise import Discretisation
from gleg_core.system.rollout import differentiable_rollout

SQUARED = {"square": [DIFFUSION], "coefficient": -1}
REFUSED = {
    "second derivatives at points": (
        NEUMANN,
        [{**DIFFUSION, "realisation": "pointwise"}],
        r"equation\[0\]: realisation 'pointwise' is not possible: .* on cells have no derivatives of order two.*Possible: \['weak'\]",
    ),
    "no coefficients of waves": (
        NEUMANN,
        [{**DIFFUSION, "realisation": "ambient"}],
        r"equation\[0\]: realisation 'ambient' is not possible: the basis has no ambient coefficients",
    ),
    "a factor in space times a weak form": (
        NEUMANN,
        [{**DIFFUSION, "coefficient": "1 + x"}],
        r"no realisation is possible: a coefficient that varies in space multiplies the mechanism pointwise; functions on cells",
    ),
    "fourth order, clamped": (
        [{"kind": "clamped"}],
        [SQUARED],
        r"boundary\[0\]: functions on cells cannot meet this condition: it prescribes more than a value.*another basis",
    ),
    "too few conditions": (NEUMANN, [SQUARED], r"boundary\[0\]: 1 condition on segment.*has order 4 and needs 2"),
    "an unknown constant on adjoining segments": (
        [{"kind": "floating"}],
        [DIFFUSION],
        r"boundary\[0\]: on functions on cells this condition needs a segment that touches no other condition on values",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_possible_says_so(case: str) -> None:
    boundary, equation, message = REFUSED[case]
    with pytest.raises(SpecError, match=message):
        discretised(one_field(0.25, boundary, equation))


def test_second_derivatives_of_a_run() -> None:
    run = solved(one_field(0.25, NEUMANN, initial="x"))
    assert run.u(0.3, 0.3, 0.0, derivative=(1, 0)) == pytest.approx(1)
    with pytest.raises(SpecError, match="no second derivatives"):
        run.u(0.3, 0.3, 0.0, derivative=(2, 0))


def stream(boundary: str, equation: list[dict[str, Any]]) -> dict[str, Any]:
    u = {"initial": 1, "boundary": NEUMANN, "equation": [DIFFUSION]}
    psi = {"steady": True, "boundary": [{"kind": boundary}], "equation": equation}
    return spec(0.25, {"u": u, "psi": psi})


POISSON = [DIFFUSION, {"block": "power", "of": "u"}]


@pytest.mark.parametrize(
    ("boundary", "equation", "error", "message"),
    [
        ("neumann", POISSON, NumericsError, "'psi' has no unique solution"),
        ("dirichlet", POISSON[1:], NumericsError, "'psi' has no unique solution"),
        ("dirichlet", [*POISSON, {"block": "power", "p": 2}], SpecError, "'psi' is steady: its terms must be linear"),
        (
            "dirichlet",
            [{**DIFFUSION, "coefficient": "1 + t"}, POISSON[1]],
            SpecError,
            "'psi' is steady: its terms must",
        ),
    ],
)
def test_steady_equations_that_cannot_be_solved(boundary: str, equation: Any, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        discretised(stream(boundary, equation))


def data(value: str, end: float = 1.0) -> dict[str, Any]:
    time = {"end": end, "step": 0.01, "integrator": "imex-ark4"}
    return one_field(0.25, [{"kind": "dirichlet", "value": value}], time=time)


def test_a_pulse_that_nobody_saw_is_an_error() -> None:
    with pytest.raises(NumericsError, match="appears for a very short time only"):
        solved(data("x*exp(-((t - 0.51)/0.00001)^2)"))


def test_data_that_fade_need_no_accuracy_of_their_own() -> None:
    """Their late shapes are not among those of the lift, but are smaller than all rounding."""
    assert abs(solved(data("exp(-50*t)*sin(x*(1 + 5*t))")).u(0.3, 0.4, 1.0)) < 1e-6


def test_data_that_are_not_finite() -> None:
    with pytest.raises(NumericsError, match=r"boundary\[0\]: boundary data \(trace 0\) are not finite"):
        solved(data("1/(t - 0.5)"))


# --- batches and gradients --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def moving() -> Discretisation:
    """Forcing, moving data, linear terms of all kinds, a nonlinear one."""
    equation = [
        {**DIFFUSION, "coefficient": "0.3 + 0.1*t"},
        {"block": "transport", "direction": "x", "coefficient": -0.3},
        {"block": "power", "coefficient": "cos(t)"},
        {"block": "power", "p": 3, "coefficient": -1},
        {"block": "mean", "coefficient": 0.5},
    ]
    return discretised(manufactured(0.25, CONDITIONS["mixed"], equation))


def states(d: Discretisation, *shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(3)
    return d.initial + 0.1 * torch.randn(*shape, d.system.size, dtype=torch.float64, generator=generator)


def test_a_batch_is_its_states_one_by_one(moving: Discretisation) -> None:
    z = states(moving, 2, 3)
    together = moving.system.rhs(z, 0.3)
    for i in range(2):
        for j in range(3):
            alone = moving.system.rhs(z[i, j], 0.3)
            assert torch.allclose(together[i, j], alone, rtol=0, atol=1e-12 * float(alone.abs().max()))
    assert moving.system.rhs(states(moving, 0), 0.1).shape == (0, moving.system.size)


def test_every_state_may_have_its_own_time(moving: Discretisation) -> None:
    z, times = states(moving, 7), torch.linspace(0.0, 0.4, 7, dtype=torch.float64)[:, None]
    together = moving.system.nonlinear(z, times)
    for state, t, response in zip(z, times, together, strict=True):
        alone = moving.system.nonlinear(state, float(t))
        assert torch.allclose(response, alone, rtol=0, atol=1e-12 * float(alone.abs().max()))


@pytest.mark.parametrize("key", ["imex-ark4", "crank-nicolson", "midpoint", "rk4"])
def test_gradient_through_a_rollout(moving: Discretisation, key: str) -> None:
    integrator = integrator_of(key)
    step = {"rk4": 0.8 * integrator.stable_step(moving.system)}.get(key, 0.02)

    def energy(z: torch.Tensor) -> torch.Tensor:
        last = differentiable_rollout(moving.system, integrator, z, [0.0, 0.04], step)[-1]
        return 0.5 * (moving.system.moments(last) * last).sum()

    z = states(moving).requires_grad_(True)
    direction = states(moving, 2)[1] - moving.initial
    (gradient,) = torch.autograd.grad(energy(z), z)
    with torch.no_grad():
        difference = (energy(z + 1e-5 * direction) - energy(z - 1e-5 * direction)) / 2e-5
    assert float(gradient @ direction) == pytest.approx(float(difference), rel=1e-6)


def test_exponential_methods_have_no_gradients(moving: Discretisation) -> None:
    with pytest.raises(NumericsError, match=r"exponential integrators have no gradients.*use an implicit one"):
        integrator_of("etdrk4").stepper(moving.system, 0.1)(states(moving).requires_grad_(True), 0.0)


def test_factors_of_a_batch(moving: Discretisation) -> None:
    """Factors on reactions and data differ within a batch; those of diffusion cannot."""
    factors = torch.tensor([[1.0], [0.5]], dtype=torch.float64)
    nothing = [None] * len(moving.system.modes)
    scaled = moving.system.scaled([*nothing[:3], factors, None], steady_lift=False)
    plain = moving.system.scaled(nothing, steady_lift=False)
    z = states(moving)
    together = scaled.rhs(z.expand(2, -1), 0.2)
    assert torch.allclose(together[0], plain.rhs(z, 0.2), rtol=0, atol=1e-10 * float(together[0].abs().max()))
    half = moving.system.scaled([*nothing[:3], factors[1], None], steady_lift=False)
    assert torch.allclose(together[1], half.rhs(z, 0.2), rtol=0, atol=1e-10 * float(together[1].abs().max()))
    assert float((together[1] - together[0]).abs().max()) > 1e-3
    with pytest.raises(
        SpecError, match=r"equation\[0\]: the coefficient of this mechanism cannot differ within a batch"
    ):
        discretised(one_field(0.25, NEUMANN)).system.scaled([factors])


def test_the_default_integrator_is_an_implicit_one() -> None:
    """It solves once per stage, and has gradients."""
    assert registry().find("basis", "quadratic-triangles").entry.capabilities["local"]
    run = solved(one_field(0.25, NEUMANN, initial="1 + x", time={"end": 0.1}))
    assert run.problem.integrator.key == "integrators:imex-ark4"
    assert np.isfinite(run.u(0.3, 0.3, 0.1))
