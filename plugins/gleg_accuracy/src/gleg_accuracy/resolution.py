"""Choosing the resolution, the mass cut and the time tolerance for a target accuracy.

Trial solutions of rising resolution are compared on points of Ω that belong to no basis, δ_i = max_t ‖u_i − u_{i−1}‖ / max_t ‖u_i‖; their
convergence says what error the last one has and how far the next has to go (see :mod:`convergence`). The error at the start is part of
that of the solution and takes only a space to find out: trials begin where it is small enough. The time error is estimated once, on a
first, coarse trial, by a run with a finer tolerance (or half the step). Whatever the problem file states is left as it is; what was chosen
stands in the resolved problem.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from gleg_accuracy.comparison import difference, some_times, values
from gleg_accuracy.convergence import Convergence, larger, needed, smaller
from gleg_accuracy.patience import OutOfPatience, Patience
from gleg_accuracy.representation import representation_errors
from gleg_core.algebra import cache
from gleg_core.algebra.mass import GRAM_RESOLVES
from gleg_core.capabilities import BasisCapabilities
from gleg_core.contracts.domain import Quadrature
from gleg_core.errors import NumericsError, SpecError
from gleg_core.estimate import Choice
from gleg_core.run import Run
from gleg_core.spec.problem import Problem, load_problem
from gleg_core.system.discrete_field import DiscreteField
from gleg_core.system.discretise import all_terms
from gleg_core.system.initial import initial_functions
from gleg_core.system.spaces import build_spaces
from gleg_core.terminal import Listener

_DEFAULT = 1e-4
"""Accuracy where a resolution is auto and the file states none."""
_FIRST, _MOST, _AT_LEAST = 8, 6000, 3
"""The first resolution, the largest number of basis functions tried, and how many of them a resolution n stands for, in units of n^dim, at
least."""
_WAVES_MARGIN = 0.2
"""Margin of a periodic box for states with waves that are short beside Ω."""
_BEFORE, _WITHIN = 0.87, 100.0
"""The error of a trial is seen by comparing it with one of about 0.87 times its resolution. An earlier trial of at most that resolution
will do, unless its error at the start exceeds 100 times the wanted one."""
_POINTS, _DENSE = 30.0, 0.7
"""Wavenumber of the rule on which trials are compared, at least: times the extent, and in units of the bandwidth of their basis."""
_KEPT = 0.5
"""Part of the patience that is kept for the rollouts when spaces for the initial state are tried."""
_ENOUGH, _HOPELESS = 1_500, 0.1
"""So many functions that leave so much of an initial state are given up, where the file leaves the basis open."""
_CUT = 2.0
"""Error left by the mass cut, in units of √tau_M: 0.4 to 1.4 on the manufactured problems."""
_CUT_SHARE = 10.0
"""The accuracy in units of √tau_M."""
_SHARE = 0.5
"""Part of the accuracy that the error in space may take; the error in time may take half of that."""


def solve_to_accuracy(
    problem: Problem, solve: Callable[[Problem], Run], report: Listener, patience: Patience
) -> tuple[Run, Choice]:
    """The run with the smallest resolution tried whose estimated error is below the accuracy, and what was chosen."""
    accuracy = problem.section.accuracy or _DEFAULT
    with cache.in_memory():  # trials with the same resolution share spaces and matrices
        return _chosen(_Trials(problem, accuracy, solve, report, patience), accuracy, patience)


def _chosen(trials: "_Trials", accuracy: float, patience: Patience) -> tuple[Run, Choice]:
    space_error, time_error, given_up = math.inf, math.inf, None
    try:
        if (found := trials.calibrate()) is None:
            return trials.run, trials.choice(space_error, time_error)
        time_error = found
        for value in trials.resolutions():
            patience.require()
            if not trials.go_on(value):
                break
            space_error = trials.space_error()
            if space_error <= _SHARE * accuracy:
                break
    except OutOfPatience:
        if not trials.has_run:
            raise
        given_up = patience.seconds
    except KeyboardInterrupt:  # while the next trial is prepared: the last one is there
        if not trials.has_run:
            raise
        trials.run.trajectory.interrupted = True
    return trials.run, trials.choice(space_error, time_error, given_up)


class _Trials:
    """Solutions of rising resolution, and how far each is from the one before."""

    run: Run
    """The last one."""
    _convergence: Convergence
    _largest: tuple[int, int]
    """The largest resolution so far, and its number of basis functions."""

    def __init__(
        self, problem: Problem, accuracy: float, solve: Callable[[Problem], Run], report: Listener, patience: Patience
    ):
        self._problem, self._accuracy, self._solve, self._report = problem, accuracy, solve, report
        self._patience = patience
        self._name = problem.resolution
        stated = problem.basis.params.model_fields_set
        self._free = problem.is_resolution_open or (self._name is not None and self._name not in stated)
        self._value: int | None = None
        self._settings = self._thresholds()
        self._count = 0

    def _thresholds(self) -> dict[str, dict[str, Any]]:
        """The mass cut leaves an error of about its root; the first tolerance is a guess that is checked."""
        space, moment = self._problem.section.space, self._problem.section.time
        changes: dict[str, dict[str, Any]] = {"space": {}, "time": {}}
        if "tau_M" not in space.model_fields_set:
            # below GRAM_RESOLVES spaces take several times as long to make
            enough = _CUT * math.sqrt(GRAM_RESOLVES) <= _SHARE * self._accuracy
            least = GRAM_RESOLVES if enough else 1e-16
            changes["space"]["tau_M"] = float(f"{min(1e-6, max(least, (self._accuracy / _CUT_SHARE) ** 2)):.2g}")
        if "quadrature" not in space.model_fields_set:
            changes["space"]["quadrature"] = float(f"{min(1e-4, max(1e-13, 3e-2 * self._accuracy)):.2g}")
        if "tolerance" not in moment.model_fields_set and moment.step == "auto":
            changes["time"]["tolerance"] = float(f"{min(0.1, 100 * self._accuracy):.2g}")
        return changes

    def resolutions(self) -> Iterator[int | None]:
        """Further values of the resolution after the first trial."""
        if not self._free:
            yield self._stated
            return
        yield from (value for value in self._approach() if value > self._convergence.sizes[-1])
        while True:
            yield self._convergence.next(_SHARE * self._accuracy)

    def _approach(self) -> Iterator[int]:
        """Where trials go on after the first: at the resolution that represents the initial state well enough, and a little before it."""
        wanted = _SHARE * self._accuracy
        value, error = self._convergence.sizes[-1], self._convergence.starts[-1]
        while error > wanted:
            start, next_ = time.perf_counter(), larger(value)
            if (problem := self._possible(next_)) is None or self._patience.left < _KEPT * self._patience.seconds:
                yield from (smaller(value), value)
                return
            spaces = build_spaces(problem, all_terms(problem))
            self._largest = next_, spaces.basis.size
            next_error = self._start_error(spaces.fields)
            told = f"{self._name} {next_}: the initial state has an error of {next_error:.1g}"
            self._report.stage("choose", told, time.perf_counter() - start)
            if self._problem.section.basis is None and spaces.basis.size > _ENOUGH and next_error > _HOPELESS:
                raise OutOfPatience  # another basis may be tried
            if (found := needed((value, next_), (error, next_error), wanted)) is not None:
                tried = ((next_, next_error), (value, error))
                near = [n for n, p in tried if n <= _BEFORE * found and p <= _WITHIN * wanted]
                yield near[0] if near else smaller(found)
                yield found
                return
            if next_error > error / 2 and self._margin_is_open:
                self._settings["space"]["margin"] = _WAVES_MARGIN
            value, error = next_, next_error

    @property
    def _margin_is_open(self) -> bool:
        """Whether the room between Ω and the edge of a periodic box is left to us. Functions that are smooth beside it converge fastest
        with the default, which leaves much; where waves are not resolved yet, less of it resolves shorter ones with as many functions."""
        space, periodic = (
            self._problem.section.space,
            self._problem.basis.installed.capabilities(BasisCapabilities).periodic,
        )
        return periodic and space.box == "auto" and space.margin == "auto"

    def _start_error(self, fields: Iterable[DiscreteField]) -> float:
        """Of the initial fields in these spaces, relative to the size of the solution."""
        moment = self._problem.section.time.start
        errors = representation_errors(fields, initial_functions(self._problem), moment)
        return max((self._sizes_at_start[name] * error for name, error in errors.items()), default=0.0)

    @cached_property
    def _sizes_at_start(self) -> dict[str, float]:
        """‖u(0)‖ / max_t ‖u‖ of every field in the first trial."""
        return {name: _size_at_start(self.run, name, self._rule(self.run)) for name in self.run.field_names}

    @property
    def _stated(self) -> int | None:
        return None if self._name is None else int(getattr(self._problem.basis.params, self._name))

    def _trial(self, value: int | None, **changes: Any) -> Run:
        self._count += 1
        return self._solve(self._changed(value, changes))

    def _changed(self, value: int | None, changes: dict[str, Any]) -> Problem:
        """The problem with what is open set."""
        merged = {key: {**kept, **changes.get(key, {})} for key, kept in self._settings.items()}
        overrides: dict[str, Any] = {key: change for key, change in merged.items() if change}
        if value is not None:
            overrides["basis"] = {**self._basis_data, self._name: value}
        return load_problem(self._problem, overrides)

    @property
    def _basis_data(self) -> dict[str, Any]:
        """The kind, so that a resolution can be stated in a file without a basis."""
        return {"kind": self._problem.basis.key}

    def calibrate(self) -> float | None:
        """First trial; then finer in time until the change is small enough. None if it was interrupted."""
        stated = self._stated if not self._free else None
        self._value = _FIRST if self._free else stated and smaller(stated)
        start = time.perf_counter()
        run = self.run = self._first()
        while not run.trajectory.interrupted:
            moment = run.problem.section.time
            fixed = moment.step != "auto"
            finer = {"step": moment.step / 2} if moment.step != "auto" else {"tolerance": moment.tolerance / 8}
            again = self._trial(self._value, time=finer)
            if again.trajectory.interrupted:
                break
            change = self._difference(again, run)
            now = time.perf_counter()
            (key,) = finer
            told = f"{self._label}: {key} {getattr(moment, key):.2g} changes by {change:.1g} when refined"
            self._report.stage("choose", told, now - start)
            start = now
            enough = change <= _SHARE * self._accuracy / 2 or moment.tolerance < 1e-13
            if enough or fixed or "tolerance" not in self._settings["time"]:
                self._convergence = Convergence((self._value or 0,), (self._start_error(run.discretisation.fields),))
                self._largest = self._value or 1, run.discretisation.basis.size
                return change
            self._settings["time"]["tolerance"] = float(f"{moment.tolerance / 8:.2g}")
            run = self.run = again
        return None

    def _first(self) -> Run:
        """On the first resolution that holds the solution: on too few functions it may be lost."""
        while True:
            began = time.perf_counter()
            try:
                return self._trial(self._value)
            except NumericsError as error:
                value = larger(larger(self._value or 0))
                if not self._free or _AT_LEAST * value**self._problem.scope.dim > _MOST:
                    raise
                self._report.stage("choose", f"{self._label} fails: {error}", time.perf_counter() - began)
                self._value = value

    @property
    def has_run(self) -> bool:
        """Whether a trial has come to its end."""
        return "run" in vars(self)

    @property
    def _label(self) -> str:
        return f"{self._name} {self._value}" if self._name else "trial"

    def _difference(self, new: Run, old: Run) -> float:
        rule = self._rule(new)
        return difference(new, old, some_times(new), rule.points, rule.weights)

    def _rule(self, run: Run) -> Quadrature:
        """Points that belong to no basis, dense enough for what the functions of this one can be."""
        d = run.discretisation
        return d.domain.quadrature(
            max(_POINTS / float(np.ptp(d.domain.bounds, axis=1).max()), _DENSE * d.basis.bandwidth), 1e-3
        )

    def _possible(self, value: int) -> Problem | None:
        """The problem with this resolution, None if that is too large."""
        known, functions = self._largest
        if self._free and functions * (value / known) ** self.run.discretisation.domain.dim > _MOST:
            return None
        try:
            return self._changed(value, {})
        except SpecError:  # more than the basis admits
            return None

    def go_on(self, value: int | None) -> bool:
        """One more trial, compared with the last; False if it was interrupted, or if the next would be too large."""
        if self._name is None or value is None or (problem := self._possible(value)) is None:
            return False
        last, before, start = self.run, self._label, time.perf_counter()
        while True:
            self._count += 1
            try:
                run = self._solve(problem)
                break
            except NumericsError as error:
                self._report.stage("choose", f"{self._name} {value} fails: {error}", time.perf_counter() - start)
                value, start = larger(value), time.perf_counter()
                if (problem := self._possible(value)) is None:
                    return False
        self._value, self.run = value, run
        self._largest = value, self.run.discretisation.basis.size
        if self.run.trajectory.interrupted:
            return False
        change = self._difference(self.run, last)
        self._convergence = self._convergence.then(value, self._start_error(self.run.discretisation.fields), change)
        told = f"{self._label}: changes by {change:.1g} from {before}"
        self._report.stage("choose", told, time.perf_counter() - start)
        return True

    def space_error(self) -> float:
        """Of the last trial: of its resolution or of the mass cut, which differs from trial to trial and shows in their changes too."""
        return max(self._convergence.error, _CUT * math.sqrt(self.run.problem.section.space.tau_M))

    def choice(self, space_error: float, time_error: float, given_up: float | None = None) -> Choice:
        section = self.run.problem.section
        return Choice(
            self._accuracy, self._name, self._value, section.time.tolerance, section.space.tau_M,
            space_error, time_error, self._count, given_up,
        )  # fmt: skip


def _size_at_start(run: Run, name: str, rule: Quadrature) -> float:
    """‖u(0)‖ / max_t ‖u‖ over some of the saved times, 0 if u = 0."""
    sizes = np.sqrt(values(run, name, some_times(run), rule.points) ** 2 @ rule.weights)
    return float(sizes[0] / sizes.max()) if sizes.max() > 0 else 0.0


def require_resolution(problem: Problem) -> None:
    """Refuse an open resolution of a basis that does not say what it is."""
    for name, value in dict(problem.basis.params).items():
        if value == "auto" and name != problem.resolution:
            place = problem.document.locate((*problem.basis.place, name))
            raise SpecError(f"{place}: 'auto' is not possible, {problem.basis.key} declares no resolution")
