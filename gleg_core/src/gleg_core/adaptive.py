"""Choosing a local basis and the time tolerance for a target accuracy.

A basis that estimates its errors on every cell is refined where they are too large, and the problem solved again. The difference of two
solutions tells how much larger or smaller than the estimates the errors really are; the estimates of the last solution are corrected by
that. The time error is found on the first, coarse basis, by a run with a finer tolerance (or half the step). Solutions are compared after
the start: an initial state that does not fit the boundary data has a layer there that is gone at once, and that no mesh resolves.
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from gleg_core.automatic import Choice, some_times
from gleg_core.capabilities import BasisCapabilities
from gleg_core.contracts.basis import as_points
from gleg_core.contracts.local_basis import LocalBasis
from gleg_core.spec.problem import Problem, load_problem
from gleg_core.terminal import Listener

if TYPE_CHECKING:
    from gleg_core.run import Run

_SHARE = 0.5
"""Part of the accuracy that the error in space may take; the error in time may take half of that."""
_COARSE = 10.0
"""The first trial is made for an error so many times larger."""
_TRIALS, _MOST = 8, 120_000
"""Trials in space at most, and functions of a basis from which on none is refined."""
_CORRECTION = 30.0
"""Factor by which a difference of solutions may correct the estimates, at most."""
_POINTS = 20_000
"""Nodes at which trials are compared."""


def is_adaptive(problem: Problem) -> bool:
    """Whether the basis of a problem has local functions and says which parameter takes an accuracy."""
    stated = problem.basis.installed.capabilities(BasisCapabilities)
    return stated.local and stated.tolerance is not None


def solve_adaptively(problem: Problem, solve: "Callable[[Problem], Run]", report: Listener) -> "tuple[Run, Choice]":
    """The first run whose estimated error is below the accuracy, and what was chosen."""
    return _Trials(problem, solve, report).solved()


class _Trials:
    """Solutions on bases that are finer and finer."""

    run: "Run"
    """The last one."""

    def __init__(self, problem: Problem, solve: "Callable[[Problem], Run]", report: Listener):
        assert problem.section.accuracy is not None
        self._accuracy, self._target = problem.section.accuracy, _SHARE * problem.section.accuracy
        self._problem, self._solve, self._report = problem, solve, report
        self._parameter = str(problem.basis.installed.capabilities(BasisCapabilities).tolerance)
        self._basis = self._for_error(_COARSE * self._target, {})
        self._moment: dict[str, Any] = {}
        self._count = 0
        self._space_error, self._time_error = math.inf, math.inf

    def solved(self) -> "tuple[Run, Choice]":
        try:
            if self._refine_in_time():
                self._refine_in_space()
        except KeyboardInterrupt:
            if self._count == 0:
                raise
            self.run.trajectory.interrupted = True  # while the next trial was prepared: the last one is there
        moment, space = self.run.problem.section.time, self.run.problem.section.space
        return self.run, Choice(
            self._accuracy, None, None, moment.tolerance, space.tau_M, self._space_error, self._time_error, self._count
        )

    def _refine_in_time(self) -> bool:
        """Trials on the coarse basis; False if one was interrupted."""
        stated = self._problem.section.time
        free = stated.step == "auto" and "tolerance" not in stated.model_fields_set
        if free:
            self._moment = {"tolerance": float(f"{min(1e-2, self._accuracy):.2g}")}
        last = self._next()
        while not last.trajectory.interrupted:
            moment, kept, began = last.problem.section.time, self._moment, time.perf_counter()
            finer = {"tolerance": moment.tolerance / 8} if moment.step == "auto" else {"step": moment.step / 2}
            self._moment = finer
            new = self._next()
            if new.trajectory.interrupted:
                return False
            (key,) = finer
            self._time_error = _difference(new, last)
            told = f"{key} {getattr(moment, key):.2g} changes by {self._time_error:.1g} when refined"
            self._report.stage("choose", told, time.perf_counter() - began)
            if not free or self._time_error <= self._target / 2 or moment.tolerance < 1e-12:
                self._moment = kept
                return True
            last = new
        return False

    def _refine_in_space(self) -> None:
        """Trials on finer bases. The difference from the last one is the error that it had."""
        errors, correction = self._estimates(), 1.0
        for trial in range(_TRIALS):
            basis = self.run.discretisation.basis
            assert isinstance(basis, LocalBasis)
            estimate = float(np.linalg.norm(errors))
            allowed = self._target / max(correction, 1.0)
            finer = basis.refined(errors, allowed)
            if basis.size > _MOST or (finer is None and trial > 0):
                return
            last, began = self.run, time.perf_counter()
            self._basis = self._for_error(allowed if trial else self._target, finer or self._basis)
            if self._next().trajectory.interrupted:
                return
            change = _difference(self.run, last)
            correction = float(np.clip(change / max(estimate, 1e-300), 1 / _CORRECTION, _CORRECTION))
            errors = self._estimates()
            self._space_error = correction * float(np.linalg.norm(errors))
            made = self.run.discretisation.basis
            told = (
                f"{made.size:,} functions: changes by {change:.1g} from {basis.size:,}, leaves {self._space_error:.1g}"
            )
            self._report.stage("choose", told, time.perf_counter() - began)
            if self._space_error <= self._target:
                return

    def _for_error(self, allowed: float, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """A basis for an error, unless the file states its own tolerance."""
        made = {**parameters, "kind": self._problem.basis.key}
        if self._parameter not in self._problem.basis.params.model_fields_set:
            made[self._parameter] = float(f"{min(0.1, allowed):.2g}")
        return made

    def _next(self) -> "Run":
        overrides = {"basis": self._basis} | ({"time": self._moment} if self._moment else {})
        changed = load_problem(self._problem, overrides)
        self.run = self._solve(replace(changed, basis=replace(changed.basis, reason=self._problem.basis.reason)))
        self._count += 1
        return self.run

    def _estimates(self) -> np.ndarray:
        """On every cell (E,): the largest over time and fields, relative to the largest norm of a field over time."""
        basis, found = self.run.discretisation.basis, []
        assert isinstance(basis, LocalBasis)
        for name in self.run.field_names:
            field = self.run.discretisation.system.fields[name]
            a = _coefficients(self.run, name, _times(self.run))
            if (errors := basis.errors(a)) is None:
                return np.full(1, math.inf)
            values = field.local.rules.inside.expand(a)((0,) * basis.dim)
            size = math.sqrt(float((values**2 @ field.space.weights).max()))
            found.append(errors.numpy().max(axis=0) / max(size, 1e-300))
        return np.max(found, axis=0)


def _difference(new: "Run", old: "Run") -> float:
    """max_t ‖new − old‖ / max_t ‖new‖ over some of the saved times, at nodes of the old one; the largest of the fields."""
    worst, times = 0.0, _times(new)
    basis = old.discretisation.basis
    assert isinstance(basis, LocalBasis)
    points = np.concatenate([cells.points.reshape(-1, basis.dim) for cells in basis.cells])
    weights = np.concatenate([cells.weights.ravel() for cells in basis.cells])
    rows = slice(None, None, max(1, len(points) // _POINTS))
    x, w = as_points(points[rows]), as_points(weights[rows])
    for name in new.field_names:
        u, v = (run.discretisation.basis.evaluate(_coefficients(run, name, times), x) for run in (new, old))
        size = float((u**2 @ w).max())
        worst = max(worst, math.sqrt(float(((u - v) ** 2 @ w).max()) / size) if size > 0 else 0.0)
    return worst


def _coefficients(run: "Run", name: str, times: list[float]) -> torch.Tensor:
    """(times, M)."""
    return torch.stack([run.discretisation.system.coefficients(name, run.state(t), t) for t in times])


def _times(run: "Run") -> list[float]:
    """Those after the start."""
    return some_times(run)[1:] or some_times(run)
