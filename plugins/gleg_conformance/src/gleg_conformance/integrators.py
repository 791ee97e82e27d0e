"""Checks of the contract Integrator: order, stability, purity, and the two kinds of linear part.

All of them step small systems ż = A z + n(z, t) whose solutions are known in closed form.
"""

import math
from collections.abc import Callable, Iterable
from typing import cast

import torch
from torch import Tensor

from gleg_conformance.integrator_systems import (
    DENSE,
    MATRIX,
    STEP,
    Recording,
    System,
    coupling,
    distance,
    forced,
    initial,
    nothing,
    path,
    run,
    size,
)
from gleg_conformance.kit import Finding, Subject, applies_if, check, require
from gleg_core.algebra.linear import DensePart, DiagonalPart
from gleg_core.contracts.integrator import Integrator, LinearPart, RememberingStepper
from gleg_core.errors import GlegError


def _order_lost(method: Integrator, system: System, solution: Callable[[float], Tensor]) -> Finding:
    """Declared order minus the slope of the error over [0, 1] in the last halving of the step above rounding."""
    target = solution(1.0)
    errors: list[float] = []
    for steps in (8, 16, 32, 64, 128):
        error = distance(run(method, system, solution(0.0), steps, 1.0 / steps), target)
        if error < 1e-12:
            break
        errors.append(error)
    if len(errors) < 2:  # exact, or of so high an order that two steps cannot be compared
        finest = errors[-1] if errors else 0.0
        return Finding(finest, 1e-3, "error with a step of 1/8, and below rounding after that")
    observed = math.log2(errors[-2] / errors[-1]) if max(errors[-2:]) < math.inf else math.nan
    return Finding(
        method.order - observed, 0.2, f"order {method.order} is declared, observed {observed:.2f}; order lost"
    )


# --- declaration ------------------------------------------------------------------------------------------------------


@check("integrator", group="declaration")
def declared_order_and_estimate_agree(subject: Subject) -> None:
    """The order and the error estimate in the listing are those of the method."""
    method: Integrator = subject.make()
    require(
        isinstance(method.order, int) and method.order >= 1, f"order must be a whole number ≥ 1, not {method.order!r}"
    )
    for word, value in (("order", method.order), ("embedded", method.embedded)):
        stated = getattr(subject.capabilities, word)
        require(
            stated in (None, value), f"the entry's capabilities say {word}: {stated}, the method has {word} = {value}"
        )


@check("integrator", group="declaration")
def nodes_are_those_evaluated(subject: Subject) -> None:
    """The nonlinear part is evaluated at the declared abscissae, at all of them and at no others, once a multistep method has started."""
    method, system, t = subject.make(), forced(), 0.375
    step, z, used = method.stepper(system, STEP), path(t), list[float]()
    for _ in range(1 + (method.order if method.starting_nodes else 0)):
        seen = len(system.times)
        z, _ = step(z, t)
        used += [(time - t) / STEP for time in system.times[seen:]]
        t += STEP
    require(all(0.0 <= c <= 1.0 for c in method.nodes), f"nodes must lie in [0, 1], found {_listed(method.nodes)}")
    declared = (*method.nodes, *method.starting_nodes)
    undeclared = [c for c in used if all(abs(c - d) > 1e-6 for d in declared)]
    unused = [d for d in declared if all(abs(c - d) > 1e-6 for c in used)]
    require(not undeclared, f"n(z, t + c h) is evaluated at c = {_listed(undeclared)}, which nodes do not list")
    require(not unused, f"nodes list c = {_listed(unused)}, where n is not evaluated")


def _listed(values: Iterable[float]) -> str:
    return ", ".join(f"{v:.6g}" for v in sorted(set(values)))


# --- accuracy ---------------------------------------------------------------------------------------------------------


@check("integrator", group="accuracy")
def order_of_convergence(subject: Subject) -> Finding:
    """A nonlinear system with forcing is solved with the declared order, to within 0.2."""
    return _order_lost(subject.make(), forced(), path)


@check("integrator", group="accuracy")
def order_without_nonlinear_part(subject: Subject) -> Finding:
    """ż = A z is solved with the declared order, or exactly."""
    system = System(DENSE, nothing)
    return _order_lost(subject.make(), system, lambda t: torch.linalg.matrix_exp(t * MATRIX) @ initial())


@check("integrator", group="accuracy")
def order_without_linear_part(subject: Subject) -> Finding:
    """ż = n(z, t) with A = 0 is solved with the declared order."""
    return _order_lost(subject.make(), forced(DiagonalPart(torch.zeros(3))), path)


@check("integrator", group="accuracy")
def constant_growth_is_exact(subject: Subject) -> Finding:
    """ż = c is solved exactly, and a state without any response stays."""
    still = DiagonalPart(torch.zeros(3))
    rate = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    rested = run(subject.make(), System(still, nothing), initial(), 1, STEP)
    grown = run(subject.make(), System(still, lambda z, t: rate.expand_as(z)), initial(), 1, STEP)
    error = max(distance(rested, initial()), distance(grown, initial() + STEP * rate))
    return Finding(error, 4e-15, "relative error of z + hc after a step")


@check("integrator", group="accuracy")
def linear_part_is_exact_with_exponentials(subject: Subject) -> Finding:
    """A method that treats A by exponentials alone solves ż = A z exactly, however long the step."""
    linear = Recording()
    moved, _ = subject.make().stepper(System(cast(LinearPart, linear), nothing), 2.0)(initial(), 0.0)
    exponential = linear.asked & {"apply", "phi", "resolvent"} == {"phi"}
    applies_if(exponential or subject.capabilities.exponential, "the method does not treat A by exponentials alone")
    return Finding(distance(moved, torch.linalg.matrix_exp(2.0 * MATRIX) @ initial()), 1e-12, "error of exp(hA) z")


# --- stability --------------------------------------------------------------------------------------------------------


@check("integrator", group="stability")
def stable_up_to_the_step_limit(subject: Subject) -> Finding:
    """Decaying modes do not grow with steps up to stable_step, however stiff they are if it is infinite."""
    method: Integrator = subject.make()
    rates = -torch.logspace(-2, 7, 10, dtype=torch.float64)
    system = System(DiagonalPart(rates), nothing)
    limit = method.stable_step(system)
    require(limit > 0.0, f"stable_step must be a positive number or infinity, not {limit!r}")
    return Finding(_growth(method, system, 0.99 * limit if math.isfinite(limit) else 0.1), 1 + 1e-12, "growth")


@check("integrator", group="stability")
def step_limit_is_not_needlessly_short(subject: Subject) -> Finding:
    """With steps twice as long as a finite stable_step some decaying mode does grow."""
    method: Integrator = subject.make()
    system = System(DiagonalPart(-torch.linspace(0.1, 50.0, 8, dtype=torch.float64)), nothing)
    limit = method.stable_step(system)
    applies_if(math.isfinite(limit), "the method states no limit of its step")
    return Finding(1.0 / _growth(method, system, 2.0 * limit), 1.0 - 1e-6, "1/growth beyond the limit")


def _growth(method: Integrator, system: System, h: float) -> float:
    """Largest |z_n|/|z_0| over 40 steps."""
    z = torch.ones(system.linear.size, dtype=torch.float64)
    step, sizes = method.stepper(system, h), []
    for i in range(40):
        z, _ = step(z, i * h)
        sizes.append(size(z))
    return max(sizes)


# --- interface --------------------------------------------------------------------------------------------------------


@check("integrator", group="interface")
def batches_step_like_single_states(subject: Subject) -> Finding:
    """States of shape (B, R), (B1, B2, R) and (0, R) are stepped as each state alone."""
    step = subject.make().stepper(forced(), STEP)
    batch = initial() + 0.3 * torch.randn(2, 3, 3, dtype=torch.float64)
    alone = torch.stack([step(z, 0.5)[0] for z in batch.reshape(6, 3)])
    require(alone.shape == (6, 3), f"a state of shape (3,) becomes one of shape {tuple(alone.shape[1:])}")
    gaps = []
    for states in (batch[0], batch, batch[:0], batch[:, :0]):
        moved, _ = step(states, 0.5)
        require(
            moved.shape == states.shape,
            f"a batch of shape {tuple(states.shape)} becomes one of shape {tuple(moved.shape)}",
        )
        if states.numel():
            gaps.append(distance(moved.reshape(-1, 3), alone[: states.numel() // 3]))
    return Finding(max(gaps), 1e-12, "relative difference between a batch and its states alone")


@check("integrator", group="interface")
def double_precision_is_kept(subject: Subject) -> None:
    """A step gives double precision tensors without a gradient that nobody asked for."""
    moved, error = subject.make().stepper(forced(), STEP)(initial(), 0.0)
    for name, value in (("state", moved), ("error estimate", error)):
        require(value is None or value.dtype == torch.float64, f"the {name} is {getattr(value, 'dtype', None)}")
        require(value is None or not value.requires_grad, f"the {name} requires a gradient though z does not")


@check("integrator", group="interface")
def error_estimate_iff_embedded(subject: Subject) -> None:
    """Steps return an error estimate of the shape of z if embedded is true, None if not."""
    method: Integrator = subject.make()
    states = initial().expand(2, 3)
    returned = method.stepper(forced(), STEP)(states, 0.0)
    require(isinstance(returned, tuple) and len(returned) == 2, "a step must return (state, error estimate or None)")
    error = returned[1]
    if not method.embedded:
        require(error is None, "a step returns an error estimate, but embedded is False: core would not use it")
        return
    require(isinstance(error, Tensor), "embedded is True, but a step returns no error estimate")
    shape = tuple(error.shape) if error is not None else ()
    require(shape == states.shape, f"the estimate has shape {shape}, the state (2, 3)")


@check("integrator", group="interface")
def steps_modify_nothing(subject: Subject) -> None:
    """A step changes neither the state it is given, nor what the system returns, nor states it returned earlier."""
    returned: list[tuple[Tensor, Tensor]] = []

    def response(z: Tensor, t: float) -> Tensor:
        value = coupling(z, t)
        returned.append((value, value.clone()))
        return value

    z = initial()
    step = subject.make().stepper(System(DENSE, response), STEP)
    moved, _ = step(z, 0.0)
    kept = moved.clone()
    step(moved, STEP)
    require(torch.equal(z, initial()), "the state passed to a step is modified in place")
    require(all(torch.equal(a, b) for a, b in returned), "what nonlinear returned is modified in place")
    require(torch.equal(moved, kept), "the state a step returned is overwritten by the next step")


@check("integrator", group="interface")
def steps_repeat_bit_by_bit(subject: Subject) -> None:
    """The same step gives the same bits, whatever other steps and step lengths came in between."""
    method, system = subject.make(), forced()
    step = method.stepper(system, STEP)
    first, _ = step(initial(), 0.25)
    step(first, 0.25 + STEP)
    method.stepper(forced(DiagonalPart(torch.tensor([-1.0, -2.0, -3.0]))), 0.5)(initial(), 0.0)
    again, _ = step(initial(), 0.25)
    fresh, _ = subject.make().stepper(system, STEP)(initial(), 0.25)
    require(torch.equal(again, first), "a step depends on earlier steps, or on steppers made for other lengths")
    require(torch.equal(fresh, first), "a fresh integrator gives another result for the same step")


@check("integrator", group="interface")
def memory_is_all_that_steps_remember(subject: Subject) -> None:
    """A fresh stepper given the memory of another one, if it has any, goes on bit by bit as the other does."""
    method, system, z = subject.make(), forced(), initial()
    step, steps = method.stepper(system, STEP), method.order + 3
    for i in range(steps):
        z, _ = step(z, i * STEP)
    memory = dict(getattr(step, "memory", {}))
    plain = all(isinstance(name, str) and isinstance(value, Tensor) for name, value in memory.items())
    kinds = ", ".join(f"{name}: {type(value).__name__}" for name, value in memory.items())
    require(plain, f"memory must hold tensors by their names, found {kinds}")
    fresh, copy, further = subject.make().stepper(system, STEP), z.clone(), range(steps, steps + 3)
    for i in further:
        z, _ = step(z, i * STEP)
    if memory:
        cast(RememberingStepper, fresh).memory = memory
    for i in further:
        copy, _ = fresh(copy, i * STEP)
    require(
        torch.equal(copy, z),
        "a fresh stepper does not go on as the first: steps remember what their memory does not hold",
    )


@check("integrator", group="interface")
def autonomous_steps_ignore_the_time(subject: Subject) -> Finding:
    """If n does not depend on time, steps at different times agree."""
    step = subject.make().stepper(System(DENSE, coupling), STEP)
    now, later = (step(initial(), t)[0] for t in (0.0, 7.3))
    return Finding(distance(later, now), 1e-14, "relative difference between a step at t = 0 and at t = 7.3")


@check("integrator", group="interface")
def diagonal_and_dense_linear_parts_agree(subject: Subject) -> Finding:
    """A in its eigenbasis and A as a full matrix give the same step."""
    rates = torch.tensor([-0.3, -2.0, -9.0], dtype=torch.float64)
    turn, _ = torch.linalg.qr(MATRIX)
    diagonal = System(DiagonalPart(rates), lambda z, t: coupling(z @ turn.mT, t) @ turn)
    dense = System(DensePart(turn @ torch.diag(rates) @ turn.mT), coupling)
    one = run(subject.make(), diagonal, initial() @ turn, 2, STEP) @ turn.mT
    other = run(subject.make(), dense, initial(), 2, STEP)
    return Finding(distance(other, one), 1e-12, "relative difference after two steps")


@check("integrator", group="interface")
def blow_up_is_not_hidden(subject: Subject) -> None:
    """A state that is not finite stays so, or is refused with an error: it is never replaced."""
    step = subject.make().stepper(System(DENSE, coupling), STEP)
    for bad in (math.nan, math.inf):
        z = initial()
        z[1] = bad
        try:
            moved, _ = step(z, 0.0)
        except GlegError:
            continue
        require(not bool(torch.isfinite(moved).all()), f"a state that contains {bad} becomes finite in a step")


# --- the error estimate and gradients ---------------------------------------------------------------------------------


@check("integrator", group="accuracy")
def error_estimate_follows_the_order(subject: Subject) -> Finding:
    """The error estimate falls at least like h to the power of the order, as step control assumes."""
    method = _embedded(subject)
    sizes = [_estimate_and_error(method, h)[0] for h in (2 * STEP, STEP, STEP / 2, STEP / 4)]
    require(min(sizes) > 0.0, "the error estimate is zero")
    sizes = [s for s in sizes if s > 1e-12]
    applies_if(len(sizes) > 1, "estimates are at the level of rounding errors even for long steps")
    observed = math.log2(sizes[-2] / sizes[-1])
    what = f"estimates should fall like h^{method.order}, observed power {observed:.2f}; power lost"
    return Finding(method.order - observed, 0.3, what)


@check("integrator", group="accuracy")
def error_estimate_is_of_the_right_size(subject: Subject) -> Finding:
    """The estimate is within a factor of 100 of the true local error at a moderate step."""
    estimate, error = _estimate_and_error(_embedded(subject), 2 * STEP)
    require(estimate > 0.0, "the error estimate is zero")
    applies_if(error >= 1e-13, "the error is at the level of rounding errors even for a long step")
    return Finding(
        max(estimate / error, error / estimate), 100.0, f"estimate {estimate:.1e}, error {error:.1e}; factor"
    )


def _embedded(subject: Subject) -> Integrator:
    method: Integrator = subject.make()
    applies_if(method.embedded, "the method has no error estimate")
    return method


def _estimate_and_error(method: Integrator, h: float) -> tuple[float, float]:
    """Largest estimate and true local error of a few steps from the exact solution."""
    step = method.stepper(forced(), h)
    estimates, errors = [], []
    for t in (0.0, 0.4, 0.8):
        moved, estimate = step(path(t), t)
        estimates.append(size(estimate) if estimate is not None else 0.0)
        errors.append(size(moved - path(t + h)))
    return max(estimates), max(errors)


@check("integrator", group="gradients")
def gradient_of_a_step(subject: Subject) -> Finding:
    """The derivative of a step with respect to its start agrees with finite differences."""
    step = subject.make().stepper(forced(), STEP)
    direction = torch.tensor([0.3, -0.5, 0.8], dtype=torch.float64)
    weights = torch.tensor([1.0, 2.0, -1.0], dtype=torch.float64)
    z = initial().requires_grad_(True)
    moved, _ = step(z, 0.25)
    require(moved.requires_grad, "no gradient flows through a step")
    (gradient,) = torch.autograd.grad(moved @ weights, z)
    plus, minus = (step(initial() + e * direction, 0.25)[0] for e in (1e-5, -1e-5))
    difference = float((plus - minus) @ weights) / 2e-5
    return Finding(abs(float(gradient @ direction) - difference) / abs(difference), 1e-6, "relative difference")
