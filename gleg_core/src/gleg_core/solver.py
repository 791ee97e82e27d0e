"""Solving a problem from start to end."""

import warnings
from collections.abc import Mapping
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
from gleg_core.run import Run, Stage
from gleg_core.spec import validation  # noqa: F401 (load_problem imports it when it is called, and every run calls it)
from gleg_core.spec.guard import check_document
from gleg_core.spec.loading import Document, load_document
from gleg_core.spec.problem import Problem, load_problem
from gleg_core.stopwatch import Stopwatch
from gleg_core.system.discretise import Discretisation, discretise
from gleg_core.system.reduced import ReducedSystem
from gleg_core.system.rollout import EndedEarly, Trajectory, rollout
from gleg_core.terminal import Listener
from gleg_core.threads import one_thread

_RESOLVED, _UNRESOLVED = 5e-4, 1e-2
"""What a local basis may leave of a solution before a finer one is looked for, and before there is a warning."""


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
        if is_wanted(problem):
            return _to_accuracy(problem, listener, clock)
        return _judged(_solve(problem, listener, clock), listener, clock)


def _judged(run: Run, listener: Listener, clock: Stopwatch) -> Run:
    """The run, or one on a finer basis if its own leaves much of the solution and the file leaves the basis open."""
    problem, error, failure = run.problem, run.estimate, run.trajectory.failure
    if error is None or error <= _RESOLVED or run.trajectory.interrupted:
        return run
    if is_adaptive(problem) and not problem.basis.params.model_fields_set:
        try:
            return _to_accuracy(load_problem(problem, {"accuracy": _RESOLVED}), listener, clock)
        except NumericsError as failed:  # the run that there is stays
            if failure is not None:
                raise
            warnings.warn(f"{problem.document.name}: no finer elements could be used: {failed}", stacklevel=3)
    if failure is not None:
        raise NumericsError(f"{failure}; {_unresolved(f'{error:.1g}')}").at(*failure.place)
    if error > _UNRESOLVED:
        told = next(facts for name, facts, _ in run.stages if name == "estimate")
        warnings.warn(
            f"{problem.document.name}: {_unresolved(told)}",
            stacklevel=3,
        )
    return run


def _unresolved(left: str) -> str:
    return (
        f"the solution is not resolved: the elements leave about {left}. Smaller ones do better, or state an accuracy and leave their "
        "keys out"
    )


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
    stages = (*(line for line in run.stages if line[0] != "estimate"), ("estimate", str(choice), 0.0))
    for line in stages:
        listener.stage(*line)
    return Run(run.discretisation, run.integrator, run.trajectory, timing, stages, choice, choice.estimate)


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
    if (error := space_error(run)) is None:
        return run
    report("estimate", f"{error} in space")
    return Run(d, integrator, t, clock.laps, stages, estimate=error.total)


def _until(trajectory: Trajectory, d: Discretisation, timing: dict[str, float]) -> Run:
    """The run until its rollout failed. Where its basis cannot tell what it leaves, or leaves little, that is an error."""
    run = Run(d, d.problem.build(d.problem.integrator), trajectory, timing)
    error = space_error(run)
    assert trajectory.failure is not None
    if error is None or error.total <= _RESOLVED:
        raise trajectory.failure
    return Run(d, run.integrator, trajectory, timing, estimate=error.total)


def integrate(problem: Problem, system: ReducedSystem, z: Tensor, listener: Listener) -> tuple[Integrator, Trajectory]:
    """Integrate ż = F(z, t) from ``z`` (..., R) over the time the file states, and keep the states of its frames."""
    section = problem.section.time
    integrator: Integrator = problem.build(problem.integrator)
    times = np.linspace(section.start, section.end, problem.section.output.frames + 1).tolist()
    step = None if section.step == "auto" else section.step
    progress = partial(listener.progress, end=section.end)
    return integrator, rollout(system, integrator, z, times, step, section.tolerance, progress)
