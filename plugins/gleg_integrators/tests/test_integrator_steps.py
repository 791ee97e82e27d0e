"""Properties of single steps: exactness, damping, batches, gradients, nodes, error estimates."""

from __future__ import annotations

import cmath
import io
import itertools
import math
from collections.abc import Callable

import pytest
import torch
from integration_problems import (
    ENTRIES,
    VARIANTS,
    Problem,
    System,
    allen_cahn,
    forced_oscillator,
    incompatible,
    integrator,
    label,
    reference,
    run,
)
from torch import Tensor

from gleg_core.algebra.linear import DensePart, DiagonalPart
from gleg_core.errors import NumericsError

ALL = pytest.mark.parametrize(("name", "params"), VARIANTS, ids=label)
IMPLICIT = [v for v in VARIANTS if v[0] != "rk4"]
EMBEDDED = [name for name, entry in ENTRIES.items() if entry.capabilities["embedded"]]


def vector(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def nothing(z: Tensor, t: float) -> Tensor:
    return torch.zeros_like(z)


def mixed(z: Tensor, t: float) -> Tensor:
    return torch.sin(z) * z.roll(1, -1) + math.cos(2 * t)


STATE = vector(0.4, -1.1, 0.7, 0.2)
MILD = vector(-30.0, -4.0, -0.5, 0.2)


@pytest.mark.parametrize(
    ("name", "params"), [v for v in VARIANTS if v[0][:3] in ("etd", "exp")] + [("strang", {})], ids=label
)
def test_linear_problems_are_solved_exactly(name: str, params: dict[str, object]) -> None:
    eigenvalues = vector(-1e6, -20.0, 0.0, 1.0)
    z = run(integrator(name, **params), System(DiagonalPart(eigenvalues), nothing), STATE, 2.0, 4)
    torch.testing.assert_close(z, STATE * torch.exp(2.0 * eigenvalues), rtol=1e-14, atol=1e-300)


@pytest.mark.parametrize(("name", "params"), [v for v in VARIANTS if v[0][:3] in ("etd", "exp")], ids=label)
def test_exponential_methods_are_exact_for_constant_forcing(name: str, params: dict[str, object]) -> None:
    eigenvalues, forcing = vector(-1e6, -20.0, -1e-9, 1.0), vector(3.0, -1.0, 2.0, 0.5)
    z = run(integrator(name, **params), System(DiagonalPart(eigenvalues), lambda z, t: forcing), STATE, 2.0, 4)
    exact = STATE * torch.exp(2 * eigenvalues) + forcing * torch.expm1(2 * eigenvalues) / eigenvalues
    torch.testing.assert_close(z, exact, rtol=1e-13, atol=0)


@pytest.mark.parametrize(("name", "params"), IMPLICIT, ids=label)
@pytest.mark.parametrize("kind", ["diagonal", "dense"])
def test_very_stiff_modes_do_not_grow(name: str, params: dict[str, object], kind: str) -> None:
    eigenvalues = vector(-1e6, -1e3, -1.0, 0.0)
    part = DiagonalPart(eigenvalues) if kind == "diagonal" else DensePart(torch.diag(eigenvalues))
    z = run(integrator(name, **params), System(part, lambda z, t: 0.3 * torch.sin(z) - 0.3 * z), STATE, 60.0, 60)
    assert bool((z.abs() <= STATE.abs() * 1.01).all())
    assert integrator(name, **params).stable_step(System(part, nothing)) == math.inf


@pytest.mark.parametrize("name", ["imex-ars443", "imex-ark4", "etdrk2", "etdrk4", "exponential-adaptive", "strang"])
def test_l_stable_methods_damp_stiff_modes_in_one_step(name: str) -> None:
    z = run(integrator(name), System(DiagonalPart(vector(-1e6)), nothing), vector(1.0), 1.0, 1)
    assert abs(float(z)) < 1e-5


@ALL
@pytest.mark.parametrize("shape", [(5, 4), (2, 3, 4), (0, 4), (2, 0, 4), (1, 4)])
@pytest.mark.parametrize("kind", ["diagonal", "dense"])
def test_batches_equal_states_one_by_one(
    name: str, params: dict[str, object], shape: tuple[int, ...], kind: str
) -> None:
    part = DiagonalPart(MILD) if kind == "diagonal" else DensePart(torch.diag(MILD) + 0.1)
    step = integrator(name, **params).stepper(System(part, mixed), 0.02)
    z = torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    together, error = step(z, 0.3)
    assert together.shape == z.shape and (error is None or error.shape == z.shape)
    for row, single in zip(together.reshape(-1, 4), z.reshape(-1, 4), strict=True):
        torch.testing.assert_close(row, step(single, 0.3)[0], rtol=1e-14, atol=1e-14)


@ALL
def test_diagonal_and_dense_parts_give_the_same_step(name: str, params: dict[str, object]) -> None:
    eigenvalues = MILD if name == "rk4" else vector(-1e4, -300.0, -2.0, 0.3)
    diagonal, dense = DiagonalPart(eigenvalues), DensePart(torch.diag(eigenvalues))
    steps = [integrator(name, **params).stepper(System(part, mixed), 0.05) for part in (diagonal, dense)]
    (first, e1), (second, e2) = (step(STATE, 0.1) for step in steps)
    torch.testing.assert_close(first, second, rtol=1e-11, atol=1e-11)
    if e1 is not None:
        torch.testing.assert_close(e1, e2, rtol=1e-11, atol=1e-11)


@ALL
def test_gradients_equal_finite_differences(name: str, params: dict[str, object]) -> None:
    step = integrator(name, **params).stepper(System(DensePart(torch.diag(MILD) + 0.1), mixed), 0.05)
    z = torch.stack([STATE, -0.5 * STATE]).requires_grad_()
    assert torch.autograd.gradcheck(lambda y: step(y, 0.2)[0], (z,), atol=1e-7, rtol=1e-6)
    with torch.no_grad():
        assert torch.equal(step(z, 0.2)[0], step(z.detach(), 0.2)[0])


@ALL
def test_steps_are_deterministic_and_leave_the_state_alone(name: str, params: dict[str, object]) -> None:
    z, system = STATE.clone(), System(DensePart(torch.diag(MILD) + 0.1), mixed)
    results = [integrator(name, **params).stepper(system, 0.05)(z, 0.1)[0] for _ in range(2)]
    assert torch.equal(*results) and torch.equal(z, STATE)


@ALL
def test_nodes_list_every_time_at_which_n_is_evaluated(name: str, params: dict[str, object]) -> None:
    times: set[float] = set()

    def spy(z: Tensor, t: float) -> Tensor:
        times.add(t)
        return mixed(z, t)

    method, t, h, z = integrator(name, **params), 0.37, 0.013, STATE
    step, used = method.stepper(System(DiagonalPart(MILD), spy), h), set[float]()
    for _ in range(method.order if method.starting_nodes else 1):  # a multistep method has started by then
        times.clear()
        z, _ = step(z, t)
        used |= {round((time - t) / h, 9) for time in times}
        t += h
    assert used == {round(c, 9) for c in (*method.nodes, *method.starting_nodes)}
    assert all(0.0 <= c <= 1.0 for c in method.nodes) and list(method.nodes) == sorted(set(method.nodes))


@ALL
def test_operators_are_prepared_before_the_step(name: str, params: dict[str, object]) -> None:
    part = DiagonalPart(MILD)
    step = integrator(name, **params).stepper(System(part, mixed), 0.05)

    def refuse(*_: object) -> None:
        raise AssertionError("an operator was prepared inside the step")

    part.phi = part.resolvent = refuse  # type: ignore[method-assign,assignment]
    step(STATE, 0.0)


@ALL
def test_an_error_estimate_is_returned_exactly_if_promised(name: str, params: dict[str, object]) -> None:
    method = integrator(name, **params)
    _, error = method.stepper(System(DiagonalPart(MILD), mixed), 0.05)(STATE, 0.0)
    assert (error is not None) == method.embedded == ENTRIES[name].capabilities["embedded"]


@pytest.mark.parametrize("name", EMBEDDED)
def test_error_estimate_has_its_order_and_covers_the_error(name: str) -> None:
    """One order below the method's, 3 for the embedded Runge–Kutta methods; between the orders for collocation, with 5.5."""
    problem = forced_oscillator()
    order = 5.5 if name == "exponential-collocation" else integrator(name).order - 1
    sizes = []
    first = 0.025 if name == "rosenbrock" else 0.05  # its stages reach further
    for h in (first, first / 2, first / 4):
        z, error = integrator(name).stepper(problem.system, h)(problem.start, 0.0)
        assert error is not None
        sizes.append(float(error.norm()))
        assert float((z - reference(problem.system, problem.start, h)).norm()) < sizes[-1]
    slopes = [math.log2(a / b) for a, b in itertools.pairwise(sizes)]
    assert slopes == pytest.approx([order + 1.0] * 2, abs=0.2)


@pytest.mark.parametrize("name", EMBEDDED)
@pytest.mark.parametrize("problem", [allen_cahn, incompatible], ids=lambda f: f.__name__)
def test_error_estimate_does_not_miss_the_error_in_stiff_problems(name: str, problem: Callable[[], Problem]) -> None:
    system, start = problem().system, problem().start
    for h in (0.04, 0.02):
        z, error = integrator(name).stepper(system, h)(start, 0.0)
        assert error is not None
        assert float(error.norm()) > 0.3 * float((z - reference(system, start, h)).norm())


@pytest.mark.parametrize("name", EMBEDDED)
def test_error_estimate_sees_the_error_in_pure_forcing(name: str) -> None:
    """ż = λ z + cos(6t + ½) has the periodic solution Re e^{i(6t + ½)}/(6i − λ)."""
    h = 0.04 if integrator(name).order == 4 else 0.5  # long enough for an error above rounding
    eigenvalues = vector(0.0, -1e-3, -1.0, -10.0, -100.0, -1e3, -1e4)

    def exact(t: float) -> Tensor:
        return (cmath.exp(1j * (6 * t + 0.5)) / (6j - eigenvalues)).real

    system = System(DiagonalPart(eigenvalues), lambda z, t: torch.full_like(z, math.cos(6 * t + 0.5)))
    z, error = integrator(name).stepper(system, h)(exact(0.0), 0.0)
    assert error is not None
    assert float((z - exact(h)).abs().max()) > 1e-10
    assert bool((error.abs() > 0.3 * (z - exact(h)).abs()).all())


def test_midpoint_conserves_quadratic_invariants() -> None:
    """Euler's rigid body plus a skew linear part: |z|² is conserved."""
    skew = torch.tensor([[0.0, 2.0, -1.0], [-2.0, 0.0, 0.5], [1.0, -0.5, 0.0]], dtype=torch.float64)

    def body(z: Tensor, t: float) -> Tensor:
        return torch.linalg.cross(z, z * vector(1.0, 0.4, 0.2))

    start = vector(0.6, -0.8, 1.0)
    z = run(integrator("midpoint"), System(DensePart(skew), body), start, 50.0, 500)
    assert abs(float(z @ z - start @ start)) < 1e-12
    drift = run(integrator("crank-nicolson"), System(DensePart(skew), body), start, 50.0, 500)
    assert abs(float(drift @ drift - start @ start)) > 1e-6


def test_midpoint_says_when_it_does_not_converge() -> None:
    system = System(DiagonalPart(vector(-1.0)), lambda z, t: -50.0 * z)
    with pytest.raises(NumericsError, match=r"did not converge at t = 0\.25 with step 1"):
        integrator("midpoint").stepper(system, 1.0)(vector(1.0), 0.25)
    system = System(DiagonalPart(vector(-1.0)), lambda z, t: z * math.nan)
    with pytest.raises(NumericsError, match="did not converge"):
        integrator("midpoint").stepper(system, 0.1)(vector(1.0), 0.0)


def test_rk4_without_linear_part_has_no_step_limit() -> None:
    assert integrator("rk4").stable_step(System(DiagonalPart(vector(0.0)), nothing)) == math.inf


@pytest.mark.parametrize("name", ["exponential-adams4", "exponential-adams6", "imex-bdf"])
@pytest.mark.parametrize("taken", [0, 2, 9])
def test_a_multistep_method_goes_on_from_its_stored_memory(name: str, taken: int) -> None:
    method, system, h = integrator(name), System(DiagonalPart(MILD), mixed), 0.05
    step, z = method.stepper(system, h), torch.stack([STATE, 2 * STATE])
    for i in range(taken):
        z, _ = step(z, i * h)
    stored = io.BytesIO()
    torch.save({"z": z, **step.memory}, stored)  # type: ignore[attr-defined]
    for i in range(taken, taken + 8):
        z, _ = step(z, i * h)
    memory = torch.load(io.BytesIO(stored.getvalue()), weights_only=True)
    again, fresh = memory.pop("z"), integrator(name).stepper(system, h)
    fresh.memory = memory  # type: ignore[attr-defined]
    for i in range(taken, taken + 8):
        again, _ = fresh(again, i * h)
    assert torch.equal(again, z)
