"""Solving a problem from start to end."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gleg_core.adaptive import is_adaptive, solve_adaptively, space_error
from gleg_core.automatic import is_wanted, require_resolution, solve_to_accuracy
from gleg_core.contracts.integrator import Integrator
from gleg_core.errors import NumericsError
from gleg_core.estimate import Estimate
from gleg_core.judgement import judged, tell
from gleg_core.run import Run, Stage
from gleg_core.spec import validation  # noqa: F401 (load_problem imports it when it is called, and every run calls it)
from gleg_core.spec.defaults import Question, suggested
from gleg_core.spec.guard import check_document
from gleg_core.spec.loading import Document, load_document
from gleg_core.spec.problem import Problem, load_problem
from gleg_core.stopwatch import Stopwatch
from gleg_core.system.discretise import Discretisation, discretise
from gleg_core.system.reduced import ReducedSystem
from gleg_core.system.rollout import EndedEarly, Trajectory, rollout
from gleg_core.terminal import Listener
from gleg_core.threads import one_thread

_RESOLVED = 5e-4
"""What a local basis may leave of a solution before a finer one is looked for."""


class Silent:
    """No display."""

    def stage(self, name: str, facts: str, seconds: float) -> None:
        pass

    def progress(self, t: float, end: float) -> None:
        pass


def solve(
    source: str | Path | Mapping[str, Any] | Problem,
    *,
    listener: Listener | None = None,
    locked: bool = False,
    **overrides: Any,
) -> Run:
    """Solve a problem file, a mapping of the same keys, or a validated problem.

    ``overrides`` replace parts of the file: ``solve("lake.yaml", constants={"r": 1.2}, time={"end": 2})``.
    Errors name the place in the file they concern, as on the command line. If a lock (``gleg lock``) lies beside the file,
    other packs than those locked give a warning; with ``locked`` they, or no lock, are an error.
    """
    listener, clock = listener or Silent(), Stopwatch()
    document = load_document(source) if isinstance(source, str | Path) else source
    if isinstance(document, Document):
        for text in check_document(document, required=locked, refuse=locked):
            warnings.warn(text, stacklevel=2)
    problem = load_problem(document, overrides)
    for text in problem.notes:
        warnings.warn(text, stacklevel=2)
    clock.lap("validate")
    with problem.located(), torch.no_grad():
        run = _on_suitable_basis(problem, listener, clock)
        tell(run)
        return run


def _on_suitable_basis(problem: Problem, listener: Listener, clock: Stopwatch) -> Run:
    """The run; on the packs' second choice of a basis if the file names none and the first does not resolve the solution."""
    run: Run | None = None
    failed: NumericsError | None = None
    try:
        run = _judged(problem, listener, clock)
        left = _left(run)
    except NumericsError as error:
        failed, left = error, str(error)
    second = _second_choice(problem, left) if left else None
    if second is not None:
        listener.stage("choose", f"{problem.basis.key} is given up: {left}", clock.lap("choose"))
        try:
            again = _judged(second, listener, clock)
        except NumericsError as error:
            listener.stage("choose", f"{second.basis.key} fails: {error}", clock.lap("choose"))
        else:
            if (
                run is None
                or run.estimate is None
                or again.estimate is None
                or again.estimate.total < run.estimate.total
            ):
                return again
    if run is None:
        assert failed is not None
        raise failed
    return run


def _left(run: Run) -> str:
    """What the basis of a run leaves of the solution, if that is too much."""
    parts = () if run.estimate is None or run.trajectory.interrupted else run.estimate.unresolved
    return next((str(replace(part, helps="")) for part in parts if part.cause in ("space", "data")), "")


def _second_choice(problem: Problem, left: str) -> Problem | None:
    """The problem on another basis, for a file that names none."""
    if problem.section.basis is not None or problem.section.unresolved == "ignore":
        return None
    found = suggested(Question("basis", problem, problem.scope, problem.registry, left))
    if found is None or found.kind == problem.basis.key:
        return None
    changed = load_problem(problem, {"basis": {"kind": found.kind, **found.parameters}})
    return replace(changed, basis=replace(changed.basis, reason=found.reason))


def _judged(problem: Problem, listener: Listener, clock: Stopwatch) -> Run:
    """The run on the basis of a problem, with its estimate."""
    if is_wanted(problem):
        run = _to_accuracy(problem, listener, clock)
    else:
        run = _on_finer_cells(_solve(problem, listener, clock), listener, clock)
    if problem.section.unresolved == "ignore" or run.trajectory.interrupted:
        return run
    known = Estimate(run.choice.parts) if run.choice is not None else run.estimate
    with one_thread():
        estimate = judged(run, known)
    line = ("estimate", str(run.choice or estimate), clock.lap("estimate"))
    listener.stage(*line)
    return run.with_estimate(estimate, (*run.stages, line))


def _on_finer_cells(run: Run, listener: Listener, clock: Stopwatch) -> Run:
    """The run, or one on a finer local basis if its own leaves much of the solution and the file leaves the basis open."""
    problem, failure = run.problem, run.trajectory.failure
    if run.estimate is None or run.trajectory.interrupted or float(run.estimate) <= _RESOLVED:
        return run
    if is_adaptive(problem) and not problem.basis.params.model_fields_set:
        listener.stage("estimate", str(run.estimate), clock.lap("estimate"))
        try:
            return _to_accuracy(load_problem(problem, {"accuracy": _RESOLVED}), listener, clock)
        except NumericsError as failed:  # the run that there is stays
            if failure is not None:
                failed.run = failed.run or run
                raise
            warnings.warn(f"{problem.document.name}: no finer elements could be used: {failed}", stacklevel=3)
    if failure is not None:
        ended = NumericsError(f"{failure}; {run.estimate.parts[0]}").at(*failure.place)
        ended.run = run
        raise ended
    return run


def _to_accuracy(problem: Problem, listener: Listener, clock: Stopwatch) -> Run:
    """Solve with what the file leaves open chosen for its accuracy; only the stages of the trial that is chosen are told."""
    adaptive = is_adaptive(problem)
    if not adaptive:
        require_resolution(problem)
    quiet = Silent()  # but for how far a trial has come
    quiet.progress = listener.progress  # type: ignore[method-assign]
    to_accuracy = solve_adaptively if adaptive else solve_to_accuracy
    run, choice = to_accuracy(problem, lambda changed: _solve(changed, quiet, Stopwatch()), listener)
    timing = {**clock.laps, "choose": clock.lap("choose") - sum(run.timing.values()), **run.timing}
    for line in run.stages:
        listener.stage(*line)
    return Run(run.discretisation, run.integrator, run.trajectory, timing, run.stages, choice, run.estimate)


def _solve(problem: Problem, listener: Listener, clock: Stopwatch) -> Run:
    stages: list[Stage] = []

    def report(stage: str, facts: str) -> None:
        stages.append((stage, facts, clock.lap(stage)))
        listener.stage(*stages[-1])

    d = discretise(problem, report)
    try:
        with one_thread():
            integrator, t = integrate(problem, d.system, d.initial, listener)
    except EndedEarly as ended:
        return _until(ended.trajectory, d, clock.laps)
    report("rollout", f"{t.steps:,} steps of at most {t.longest:.3g} to t = {t.times[-1]:g}")
    run = Run(d, integrator, t, clock.laps, stages)
    error = space_error(run)
    return run if error is None else run.with_estimate(Estimate((error.part,)), stages)


def _until(trajectory: Trajectory, d: Discretisation, timing: dict[str, float]) -> Run:
    """The run until its rollout failed. Where its basis cannot tell what it leaves, or leaves little, that is an error."""
    run = Run(d, d.problem.build(d.problem.integrator), trajectory, timing)
    error = space_error(run)
    assert trajectory.failure is not None
    if error is None or error.total <= _RESOLVED:
        trajectory.failure.run = run
        raise trajectory.failure
    return run.with_estimate(Estimate((error.part,)), ())


def integrate(problem: Problem, system: ReducedSystem, z: Tensor, listener: Listener) -> tuple[Integrator, Trajectory]:
    """Integrate ż = F(z, t) from ``z`` (..., R) over the time the file states, and keep the states of its frames."""
    section = problem.section.time
    integrator: Integrator = problem.build(problem.integrator)
    times = np.linspace(section.start, section.end, problem.section.output.frames + 1).tolist()
    step = None if section.step == "auto" else section.step
    progress = partial(listener.progress, end=section.end)
    return integrator, rollout(system, integrator, z, times, step, section.tolerance, progress)
