"""Advancing the reduced system in time."""

import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop

from gleg_core.algebra.sparse_linear import SparsePart
from gleg_core.contracts.integrator import Integrator, Stepper
from gleg_core.errors import NumericsError
from gleg_core.system.reduced import ReducedSystem

_PREPARE_STEPS = 64
"""Steps whose sources are evaluated together."""
_SAFETY, _SHRINK, _GROW = 0.9, 0.2, 3.0
"""The step that the error estimate allows is taken with a reserve, and is at least and at most so many times the last one."""
_STEPPERS_KEPT = 24
"""Step lengths whose prepared operators are kept: more than one rollout usually meets."""
_MOST_STEPS, _MOST_LOW_ORDER, _LOW_ORDER = 1_000_000, 20_000, 2
"""Steps between two saved times that an explicit method may need for stability, and steps to the end that any method may need for the
tolerance; fewer for methods of low order, beside which there is always one that needs a hundredth of them."""
_WORTH_FACTORISING, _LARGE = 2.0, 5_000
"""A sparse operator of so many unknowns is factorised for steps so many times longer; that takes as long as some five steps."""
_REVIEWED, _PATIENCE, _SLOW = 200, 10, 120.0
"""Steps after which it is looked at how many remain, again and again; so often before a rollout is refused, for what is fast is often
over by then; and seconds they may take without a warning."""
_LEAST_PART = 0.2
"""Errors are relative to the fields without their lifts, and at least to this part of the fields with them."""
_FAINT = 1e-4
"""Fields that are fainter than this part of the boundary data to come need not be followed as exactly."""
_FAINTEST, _ROUNDING = 1e-9, 1e-15
"""Nor those that are fainter than this part of all fields together, or that rounding errors of the others reach."""
_SMALLEST, _BELOW_STIFFEST = 1e-12, 0.01
"""Smallest step relative to the interval, or relative to the time that the stiffest mode takes to decay, if that is less: a state that
does not fit the boundary conditions begins with a layer that no longer step follows."""

Progress = Callable[[float], None]
"""Called with the time reached."""


@dataclass
class Trajectory:
    """Saved states: ``times`` and ``states`` (..., R) in step; ``steps`` taken, ``rejected`` by the step control, the
    ``longest`` step accepted (a fixed step may be shortened so that it lands on the saved times), the ``failure`` that ended it."""

    times: list[float] = field(default_factory=list)
    states: list[Tensor] = field(default_factory=list)
    reached_at: list[float] = field(default_factory=list)
    """Where accepted steps ended."""
    step_errors: list[float] = field(default_factory=list)
    """Their errors relative to ‖u‖, as far as they are known: 0 for fixed steps."""
    steps: int = 0
    rejected: int = 0
    longest: float = 0.0
    interrupted: bool = False
    failure: NumericsError | None = None

    @property
    def reached(self) -> float:
        """Where the last accepted step ended."""
        return self.reached_at[-1] if self.reached_at else self.times[0]

    def keep(self, z: Tensor) -> None:
        """Save the state reached between saved times."""
        if self.reached > self.times[-1]:
            self.times.append(self.reached)
            self.states.append(z)


class EndedEarly(NumericsError):
    """A step could not be taken; ``trajectory`` is what there is until then."""

    trajectory: Trajectory


def rollout(
    system: ReducedSystem,
    integrator: Integrator,
    z: Tensor,
    times: Sequence[float],
    step: float | None,
    tolerance: float,
    progress: Progress = lambda t: None,
) -> Trajectory:
    """States at ``times`` (increasing, the first is the start). ``step`` None means: controlled by ``tolerance``.

    Steps begin anew where what is given switches. Ctrl-C ends the rollout early; the state reached is saved as well. A step that cannot be
    taken raises :class:`EndedEarly`.
    """
    trajectory = Trajectory([times[0]], [z])
    system.forget()

    # an embedded estimate is that of a method of one order less
    gain = (integrator.order + 1) / integrator.order if integrator.embedded else 1.0

    def fresh() -> Callable[[Tensor, float, float], Steps]:
        if step is not None:
            return _fixed(system, integrator, step)
        return _Controlled(system, integrator, tolerance, times[-1])

    advance = fresh()
    try:
        for t0, t1 in pairwise(times):
            now = t0
            for start, end in system.switching.stretches(t0, t1):
                if start != now:
                    z, advance = system.crossed(z, now, start), fresh()
                for t, state, error in advance(z, start, end):
                    accepted = error <= 1.0
                    trajectory.steps += 1
                    trajectory.rejected += not accepted
                    if accepted:
                        _check(system, z, state, t)
                        trajectory.step_errors.append((error * tolerance) ** gain)
                        trajectory.longest = max(trajectory.longest, t - trajectory.reached)
                        z = state
                        trajectory.reached_at.append(t)
                    progress(trajectory.reached)
                now = end
            if now != t1:
                z, advance = system.crossed(z, now, t1), fresh()
            trajectory.times.append(t1)
            trajectory.states.append(z)
    except KeyboardInterrupt:
        trajectory.interrupted = True
        trajectory.keep(z)
    except NumericsError as error:
        trajectory.keep(z)
        ended = EndedEarly(str(error)).at(*error.place)
        ended.trajectory, trajectory.failure = trajectory, error
        raise ended from error
    return trajectory


def differentiable_rollout(
    system: ReducedSystem, integrator: Integrator, z: Tensor, times: Sequence[float], step: float
) -> Tensor:
    """States at ``times``, (T, ..., R), differentiable in z and in whatever the system was made from.

    Only every √n-th of n steps is kept for the gradient; those between are taken again when it is computed, so that its memory hardly
    grows with their number.
    """
    states = [z]
    for saved, until in pairwise(times):
        now = saved
        for t0, t1 in system.switching.stretches(saved, until):
            z = z if t0 == now else system.crossed(z, now, t0)
            z, now = _differentiable(system, integrator, z, t0, t1, step), t1
        z = z if now == until else system.crossed(z, now, until)
        states.append(z)
    return torch.stack(torch.broadcast_tensors(*states))


def _differentiable(
    system: ReducedSystem, integrator: Integrator, z: Tensor, t0: float, t1: float, step: float
) -> Tensor:
    """The state at t1, from z at t0."""
    n = max(1, math.ceil((t1 - t0) / step * (1 - 1e-9)))
    h = (t1 - t0) / n
    _check_stable(integrator, system, h)
    size = math.ceil(math.sqrt(n))
    for first in range(0, n, size):
        steps = range(first, min(first + size, n))

        def segment(z: Tensor, steps: range = steps) -> Tensor:
            if system.switching.times:
                system.forget()  # gradients take the stretches in reverse order, and two meet at a switch
            system.prepare([t0 + (j + c) * h for j in steps for c in integrator.nodes], h * 1e-6)
            # made here, so that taking the steps again repeats them exactly
            stepper = integrator.stepper(system, h)
            for j in steps:
                z, _ = stepper(z, t0 + j * h)
            return z

        # an early stop is an exception inside a block, and would be taken for the block's
        with set_checkpoint_early_stop(False):
            z = checkpoint(segment, z, use_reentrant=False, preserve_rng_state=False)
    return z


Steps = Iterator[tuple[float, Tensor, float]]
"""(time reached, state, local error in units of the allowed one: 0 for fixed steps, above 1 for rejected ones)."""


def _check(system: ReducedSystem, before: Tensor, z: Tensor, t: float) -> None:
    if not bool(torch.isfinite(z).all()):
        system.check_terms(before, t)
        raise NumericsError(
            f"the state is not finite at t = {t:.6g}: the step is too long for the integrator, or the equation blows up. "
            "Try a smaller time.step, step: auto, or an implicit or exponential integrator"
        ).at("time")


def _fixed(system: ReducedSystem, integrator: Integrator, step: float) -> Callable[[Tensor, float, float], Steps]:
    """Equal steps that land on the end of every interval: h = (t1 − t0)/n, never a remainder."""
    steppers: dict[float, Stepper] = {}

    def advance(z: Tensor, t0: float, t1: float) -> Steps:
        n = max(1, math.ceil((t1 - t0) / step * (1 - 1e-9)))
        h = (t1 - t0) / n
        key = float(f"{h:.12g}")  # intervals of equal length differ by rounding only
        starting = key not in steppers
        if starting:
            _check_stable(integrator, system, h)
            steppers[key] = integrator.stepper(system, key)
        for i in range(n):
            if i % _PREPARE_STEPS == 0:
                ahead = range(i, min(i + _PREPARE_STEPS, n))
                times = [t0 + (j + c) * h for j in ahead for c in integrator.nodes]
                if starting and i == 0:
                    first = range(min(n, integrator.order))
                    times += [t0 + (j + c) * h for j in first for c in integrator.starting_nodes]
                system.prepare(times, h * 1e-6)
            t = t0 + i * h
            z, _ = steppers[key](z, t)
            yield t0 + (i + 1) * h, z, 0.0

    return advance


def _check_stable(integrator: Integrator, system: ReducedSystem, h: float) -> None:
    limit = integrator.stable_step(system)
    if h > limit:
        raise NumericsError(
            f"time.step {h:.3g} is longer than {limit:.3g}, the largest stable one for this explicit integrator "
            f"(stiffness {system.linear.radius:.3g}): use a smaller step, or an exponential or implicit integrator"
        ).at("time", "step")


class _Controlled:
    """Step control: the local error, from an embedded estimate or from doubling, stays below the tolerance.

    Steps are start·2^{k/2}: few distinct lengths, so that prepared operators are used again.
    """

    def __init__(self, system: ReducedSystem, integrator: Integrator, tolerance: float, end: float):
        """``end``: of the whole rollout."""
        self._system, self._integrator, self._tolerance, self._end = system, integrator, tolerance, end
        self._steppers: dict[float, Stepper] = {}
        self._h: float | None = None
        self._size = torch.zeros(())
        self._taken = self._tried = 0
        self._reviewed: list[float] = []
        self._began = time.perf_counter()
        self._warned = False
        linear = system.linear  # prepared steps hold its factorisations
        self._kept = linear.kept if isinstance(linear, SparsePart) else _STEPPERS_KEPT
        large = isinstance(linear, SparsePart) and linear.size >= _LARGE
        self._longer = _WORTH_FACTORISING if large else 1.0
        self._limit = integrator.stable_step(system)

    def __call__(self, z: Tensor, t0: float, t1: float) -> Steps:
        t = t0
        # without their lifts little may be left of the fields, down to rounding errors
        whole, later = self._system.full_norms(z, t0), self._system.lift_norms
        own = torch.maximum(_LEAST_PART * whole, _FAINT * later)
        least = max(_FAINTEST, _ROUNDING / self._tolerance)
        self._size = torch.maximum(own, least * own.norm(dim=-1, keepdim=True))
        if self._h is None:
            if (t1 - t0) / self._limit > _MOST_STEPS:
                raise NumericsError(
                    f"this explicit integrator needs more than {_MOST_STEPS:,} steps to t = {t1:g} (stable ones are no longer than "
                    f"{self._limit:.3g}, stiffness {self._system.linear.radius:.3g}): use an exponential or implicit one"
                ).at("time", "integrator")
            self._h = self._first(z, t0, t1)
        while t < t1 - 1e-12 * (t1 - t0):
            remaining = t1 - t
            n = max(1, math.ceil(remaining / self._h * (1 - 1e-9)))
            h = remaining / n if n <= 2 else self._h
            new, error = self._attempt(z, t, h)
            self._tried += 1
            if self._tried % _REVIEWED == 0:
                self._review(t, self._h)
            factor = _SAFETY * max(error, 1e-10) ** (-1.0 / (self._integrator.order + (not self._integrator.embedded)))
            self._h = self._worth_changing(_quantised(min(self._limit, h * min(_GROW, max(_SHRINK, factor)))))
            if self._h < max(self._smallest(t1 - t0), 4 * math.ulp(abs(t))):
                self._system.check_terms(z, t + h)
                raise NumericsError(
                    f"the step fell below {self._h:.2g} at t = {t:.6g} without reaching the tolerance "
                    f"{self._tolerance:g}: the equation may blow up there, or the tolerance is too small"
                ).at("time")
            if error <= 1.0:
                t = t1 if n == 1 else t + h
                z = new
                self._taken += 1
            yield t, z, error

    def _worth_changing(self, h: float) -> float:
        """The allowed step, or the last one if that is hardly shorter and another would have to be factorised."""
        assert self._h is not None
        return self._h if self._h < h < self._longer * self._h else h

    def _review(self, t: float, h: float) -> None:
        """Refuse steps so short that the end would never be reached, and warn where a method of low order takes long. Steps that still
        grow tell nothing of how many remain."""
        self._reviewed.append(h)
        reviews = len(self._reviewed)
        if reviews < 2 or h > self._reviewed[reviews // 2 - 1]:
            return
        left, order = (self._end - t) / h, self._integrator.order
        told = f"steps of {h:.2g} at t = {t:.4g} are the longest that keep the tolerance {self._tolerance:g}, {{}} to t = {self._end:g}"
        if order > _LOW_ORDER:
            most, helps = _MOST_STEPS, "use a larger time.tolerance, or state a time.step"
        else:
            most = _MOST_LOW_ORDER
            helps = f"this integrator is of order {order}: leave time.integrator out, use a larger time.tolerance, or state a time.step"
        if left > most and reviews >= _PATIENCE:
            raise NumericsError(f"{told.format(f'more than {most:,}')}: {helps}").at("time")
        seconds = left * (time.perf_counter() - self._began) / self._tried
        if order <= _LOW_ORDER and seconds > _SLOW and not self._warned:
            self._warned = True
            warnings.warn(
                f"{told.format(f'{left:,.0f} more')} in about {seconds / 60:.0f} minutes: {helps}", stacklevel=2
            )

    def _smallest(self, interval: float) -> float:
        fastest = self._system.linear.radius
        return min(_SMALLEST * interval, _BELOW_STIFFEST / fastest if fastest > 0 else float("inf"))

    def _attempt(self, z: Tensor, t: float, h: float) -> tuple[Tensor, float]:
        """The state after h and its local error divided by the allowed one."""
        steps = [(t, h)] if self._integrator.embedded else [(t, h), (t, h / 2), (t + h / 2, h / 2)]
        nodes = (*self._integrator.nodes, *self._integrator.starting_nodes)
        self._system.prepare([start + c * length for start, length in steps for c in nodes], h * 1e-6)
        if self._integrator.embedded:
            new, error = self._stepper(h)(z, t)
            assert error is not None
        else:
            whole, _ = self._stepper(h)(z, t)
            half, _ = self._stepper(h / 2)(z, t)
            new, _ = self._stepper(h / 2)(half, t + h / 2)
            error = (new - whole) / (2**self._integrator.order - 1)
        if not bool(torch.isfinite(new).all()):
            return new, float("inf")
        norms = self._system.norms
        size = torch.maximum(torch.maximum(norms(z), norms(new)), self._size).clamp(min=1e-300)
        relative = norms(error) / size  # every field counts by itself, and every member of a batch
        return new, float(relative.max()) / self._tolerance

    def _stepper(self, h: float) -> Stepper:
        key = float(f"{h:.12g}")
        if key not in self._steppers:
            if len(self._steppers) >= self._kept:
                self._steppers.pop(next(iter(self._steppers)))
            self._steppers[key] = self._integrator.stepper(self._system, key)
        return self._steppers[key]

    def _first(self, z: Tensor, t0: float, t1: float) -> float:
        """A cautious first step from the size of n(z, t), which unlike A z is not dominated by stiff modes."""
        change = float(self._system.norm(self._system.nonlinear(z, t0)).norm())
        size = max(float(self._size.norm()), 1e-8)
        h = 0.01 * size / change if change > 0 else (t1 - t0) / 10
        least = 1e3 * self._smallest(t1 - t0)  # a state that is zero says nothing of the times at which it changes
        return _quantised(min(max(h, least), (t1 - t0) / 4, self._limit))


def _quantised(h: float) -> float:
    return 2.0 ** (math.floor(2 * math.log2(h)) / 2)
