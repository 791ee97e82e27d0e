"""Choosing a local basis and the time tolerance for a target accuracy.

A basis that estimates its errors on every cell is refined where they are too large, and the problem solved again. The difference of two
solutions tells how much larger or smaller than the estimates the errors really are; the estimates of the last solution are corrected by
that. The time error is found by a run with a finer tolerance (or half the step), on the first basis that is not far from fine enough.
Solutions are compared after the start: an initial state that does not fit the boundary data has a layer there that is gone at once, and
that no mesh resolves. What cells lose of it counts as far as it is remembered at the next time that is looked at.
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gleg_accuracy.cell_errors import space_error
from gleg_accuracy.comparison import difference, later_times
from gleg_accuracy.patience import OutOfPatience, Patience
from gleg_core.capabilities import BasisCapabilities
from gleg_core.contracts.local_basis import LocalBasis
from gleg_core.errors import NumericsError
from gleg_core.estimate import Choice
from gleg_core.run import Run
from gleg_core.spec.problem import Problem, load_problem
from gleg_core.terminal import Listener

_SHARE = 0.5
"""Part of the accuracy that the error in space may take; the error in time may take half of that."""
_ENOUGH = 0.75
"""The same of both errors together."""
_COARSE = 10.0
"""The first trial is made for an error so many times larger."""
_TRIALS, _MOST = 8, 120_000
"""Trials in space at most, and functions of a basis from which on none is refined."""
_CLEARLY = 1.3
"""Factor in the number of functions that makes a basis clearly finer."""
_STALLED = 2
"""Refinements in time over which changes fall by half, at least."""
_FURTHER = 0.01
"""Part of the duration by which a repetition of a trial that failed gets further, at least."""
_CORRECTION = 30.0
"""Factor by which a difference of solutions may correct the estimates, at most."""
_FINER, _LEAST_GAIN = 8.0, 0.75
"""Factor by which a tolerance is refined, and the power of that by which the error in time falls at least."""
_SMALLEST = 1e-12
"""Tolerance that is not refined."""
_POINTS = 20_000
"""Nodes at which trials are compared."""


def is_adaptive(problem: Problem) -> bool:
    """Whether the basis of a problem has local functions and says which parameter takes an accuracy."""
    stated = problem.basis.installed.capabilities(BasisCapabilities)
    return stated.local and stated.tolerance is not None


def solve_on_cells(
    problem: Problem, solve: Callable[[Problem], Run], report: Listener, patience: Patience
) -> tuple[Run, Choice]:
    """The first run whose estimated error is below the accuracy, and what was chosen."""
    return _Trials(problem, solve, report).solved(patience)


class _Trials:
    """Solutions on bases that are finer and finer."""

    run: Run
    """The last one that came to its end."""

    def __init__(self, problem: Problem, solve: Callable[[Problem], Run], report: Listener):
        assert problem.section.accuracy is not None
        self._accuracy, self._target = problem.section.accuracy, _SHARE * problem.section.accuracy
        self._problem, self._solve, self._report = problem, solve, report
        self._parameter = str(problem.basis.installed.capabilities(BasisCapabilities).tolerance)
        self._basis = self._for_error(_COARSE * self._target, {})
        moment = problem.section.time
        free = moment.step == "auto" and "tolerance" not in moment.model_fields_set
        self._moment: dict[str, Any] = {"tolerance": float(f"{min(1e-2, self._accuracy):.2g}")} if free else {}
        self._count, self._duration = 0, moment.end - moment.start
        self._space_error, self._time_error = math.inf, math.inf

    def solved(self, patience: Patience) -> tuple[Run, Choice]:
        given_up = None
        try:
            if not self._first().trajectory.interrupted:
                self._refine()
        except OutOfPatience:
            if self._count == 0:
                raise
            given_up = patience.seconds
        except KeyboardInterrupt:
            if self._count == 0:
                raise
            self.run.trajectory.interrupted = True  # while the next trial was prepared: the last one is there
        moment, space = self.run.problem.section.time, self.run.problem.section.space
        return self.run, Choice(
            self._accuracy, None, None, moment.tolerance, space.tau_M, self._space_error, self._time_error, self._count, given_up
        )  # fmt: skip

    def _first(self) -> Run:
        """On a coarse basis, or on a finer one if the solution is lost there."""
        try:
            return self._next()
        except NumericsError as error:
            self._report.stage("choose", f"the first trial failed: {error}", 0.0)
            self._basis = self._for_error(self._target / _COARSE, {})
            if "tolerance" in self._moment:
                self._moment = {"tolerance": self._moment["tolerance"] / 100}
            return self._next()

    def _refine(self) -> None:
        """Trials on finer bases; in time as soon as the error in space is not far from what is wanted. The difference of a trial from the
        one before is the error that that had, if its basis is clearly finer."""
        error, correction = space_error(self.run), 1.0
        for trial in range(_TRIALS):
            if error is None:
                return
            if math.isinf(self._time_error) and correction * error.total <= 2 * _COARSE * self._target:
                if not self._refine_in_time():
                    return
                error = space_error(self.run) or error
            last, began = self.run, time.perf_counter()
            basis = last.discretisation.basis
            assert isinstance(basis, LocalBasis)
            allowed = self._target / max(correction, 1.0) / (1 + trial / 2)
            finer = basis.refined(error.cells, allowed)
            if basis.size > _MOST or (finer is None and trial > 0):
                break
            self._basis = self._for_error(allowed, finer or {})
            if self._next().trajectory.interrupted:
                return
            change, made = _difference(self.run, last), self.run.discretisation.basis
            seen = float(np.clip(change / max(error.total, 1e-300), 1 / _CORRECTION, _CORRECTION))
            correction = seen if made.size > _CLEARLY * basis.size else max(seen, correction)
            error = space_error(self.run)
            self._space_error = math.inf if error is None else correction * error.total
            told = (
                f"{made.size:,} functions: changes by {change:.1g} from {basis.size:,}, leaves {self._space_error:.1g}"
            )
            self._report.stage("choose", told, time.perf_counter() - began)
            if self._space_error + self._time_error <= _ENOUGH * self._accuracy:
                return
        if math.isinf(self._time_error):
            self._refine_in_time()

    def _refine_in_time(self) -> bool:
        """Trials on the basis of the last; False if one was interrupted. A tolerance is refined by a factor of 8, and by its square where
        the error is far from what is wanted.

        Changes that do not fall tell nothing of the steps: the solution is so unstable, or so far from resolved, that anything grows. The
        error in time is then looked for on a finer basis.
        """
        stated, last, changes, first = self._problem.section.time, self.run, list[float](), self._moment
        free = stated.step == "auto" and "tolerance" not in stated.model_fields_set
        ratio = _FINER
        while True:
            moment, kept, began = last.problem.section.time, self._moment, time.perf_counter()
            finer = {"tolerance": moment.tolerance / ratio} if moment.step == "auto" else {"step": moment.step / 2}
            self._moment = finer
            new = self._next()
            if new.trajectory.interrupted:
                return False
            if (
                "tolerance" in finer
                and new.trajectory.steps == last.trajectory.steps
                and finer["tolerance"] > _SMALLEST
            ):
                self._moment, ratio = (
                    kept,
                    _FINER * ratio,
                )  # saved times bound the steps, which tells nothing of the error
                continue
            (key,) = finer
            change = _difference(new, last)
            told = f"{key} {getattr(moment, key):.2g} changes by {change:.1g} when refined"
            self._report.stage("choose", told, time.perf_counter() - began)
            left = change / ratio**_LEAST_GAIN
            if not free or change <= self._target / 2 or moment.tolerance < _SMALLEST:
                self._moment, self._time_error = kept, change
                return True
            changes.append(change)
            if len(changes) > _STALLED and change > 0.5 * changes[-1 - _STALLED]:
                self._moment = first
                return True
            if ratio > _FINER and left <= self._target / 2:
                self._time_error = left
                return True
            ratio = _FINER if left <= _FINER * self._target / 2 else _FINER**2
            last = new

    def _for_error(self, allowed: float, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """A basis for an error, unless the file states its own tolerance."""
        made = {**parameters, "kind": self._problem.basis.key}
        if self._parameter not in self._problem.basis.params.model_fields_set:
            made[self._parameter] = float(f"{min(0.1, allowed):.2g}")
        return made

    def _next(self) -> Run:
        """The next trial. One that fails because its basis does not resolve the solution is repeated on finer ones as long as each gets
        further: a front that leaves the cells made for it overshoots until nothing is left of the solution."""
        last, reached, began = self._trial(), -math.inf, time.perf_counter()
        while (failure := last.trajectory.failure) is not None:
            error = space_error(last)
            basis, further = last.discretisation.basis, last.trajectory.reached
            assert isinstance(basis, LocalBasis) and error is not None
            finer = basis.refined(error.cells, self._target)
            if basis.size > _MOST or finer is None or further - reached < _FURTHER * self._duration:
                raise failure
            told = f"{basis.size:,} functions: lost at t = {further:.4g}, where they leave {error.total:.1g}"
            self._report.stage("choose", told, time.perf_counter() - began)
            self._basis, reached, began = self._for_error(self._target, finer), further, time.perf_counter()
            last = self._trial()
        self.run, self._count = last, self._count + 1
        return last

    def _trial(self) -> Run:
        overrides = {"basis": self._basis} | ({"time": self._moment} if self._moment else {})
        changed = load_problem(self._problem, overrides)
        return self._solve(replace(changed, basis=replace(changed.basis, reason=self._problem.basis.reason)))


def _difference(new: Run, old: Run) -> float:
    """max_t ‖new − old‖ / max_t ‖new‖ over some of the saved times, at nodes of the old one; the largest of the fields."""
    basis = old.discretisation.basis
    assert isinstance(basis, LocalBasis)
    points = np.concatenate([cells.points.reshape(-1, basis.dim) for cells in basis.cells])
    weights = np.concatenate([cells.weights.ravel() for cells in basis.cells])
    rows = slice(None, None, max(1, len(points) // _POINTS))
    return difference(new, old, later_times(new), points[rows], weights[rows])
