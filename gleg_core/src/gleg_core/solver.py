"""Solving a problem from start to end."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gleg_core.contracts.integrator import Integrator
from gleg_core.errors import SpecError
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

Attempt = Callable[[Problem, Listener, Callable[[Discretisation], None]], Run]
Strategy = Callable[[Problem, Attempt, Listener], Run]
"""How a problem is solved by one or more attempts."""
_STRATEGY = "gleg_strategies", "accuracy"


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
    elif locked:
        raise SpecError(
            f"locked=True compares with the lock beside a file: give its path, found a {type(source).__name__}"
        )
    problem = load_problem(document, overrides)
    for text in problem.notes:
        warnings.warn(text, stacklevel=2)
    clock.lap("validate")
    with problem.located(), torch.no_grad():
        run = _strategy(problem)(problem, attempt, listener)
    return run.amended(timing={**clock.laps, **run.timing})


def _strategy(problem: Problem) -> Strategy:
    """That of the pack that judges runs; without it a problem that needs no trials and no judge is solved as it stands."""
    registry = problem.registry
    judged = problem.needs_trials or problem.section.unresolved == "fail"
    if judged or registry.tool(*_STRATEGY) is not None:
        return registry.target(registry.required(*_STRATEGY))

    def unjudged(problem: Problem, attempt: Attempt, listener: Listener) -> Run:
        run = attempt(problem, listener, lambda d: None)
        listener.stage("estimate", f"unknown: {registry.missing(*_STRATEGY)}", 0.0)
        return run

    return unjudged


def attempt(problem: Problem, listener: Listener, examine: Callable[[Discretisation], None] = lambda d: None) -> Run:
    """Solve a problem once, on the basis and with the steps that it states; ``examine`` is called before the rollout and may refuse.
    The error of a rollout that fails has the run until then."""
    clock, stages = Stopwatch(), list[Stage]()

    def report(stage: str, facts: str) -> None:
        stages.append((stage, facts, clock.lap(stage)))
        listener.stage(*stages[-1])

    d = discretise(problem, report)
    examine(d)
    if (other := _for_reactions(d)) is not None:
        problem, d = other, replace(d, problem=other)
    if problem.integrator.reason:
        report("choose", f"{problem.integrator.key}: {problem.integrator.reason}")
    try:
        with one_thread():
            integrator, t = integrate(problem, d.system, d.initial, listener)
    except EndedEarly as ended:
        assert ended.trajectory.failure is not None
        ended.trajectory.failure.run = Run(d, problem.build(problem.integrator), ended.trajectory, clock.laps)
        raise ended.trajectory.failure from None
    report("rollout", f"{t.steps:,} steps of at most {t.longest:.3g} to t = {t.times[-1]:g}")
    return Run(d, integrator, t, clock.laps, stages)


def _for_reactions(d: Discretisation) -> Problem | None:
    """The problem with the integrator that suits reactions as fast as its own, if its file names none and that is another one."""
    problem, moment = d.problem, d.problem.section.time
    if moment.integrator != "auto" or not (rate := d.system.reaction_rate(d.initial, moment.start)):
        return None
    question = Question(
        "integrator", problem, problem.scope, problem.registry, reactions=rate * (moment.end - moment.start)
    )
    found = suggested(question)
    if found is None or found.kind == problem.integrator.key:
        return None
    changed = load_problem(problem, {"time": {"integrator": {"kind": found.kind, **found.parameters}}})
    return replace(changed, integrator=replace(changed.integrator, reason=found.reason))


def integrate(problem: Problem, system: ReducedSystem, z: Tensor, listener: Listener) -> tuple[Integrator, Trajectory]:
    """Integrate ż = F(z, t) from ``z`` (..., R) over the time the file states, and keep the states of its frames."""
    section = problem.section.time
    integrator: Integrator = problem.build(problem.integrator)
    times = np.linspace(section.start, section.end, problem.section.output.frames + 1).tolist()
    step = None if section.step == "auto" else section.step
    progress = partial(listener.progress, end=section.end)
    return integrator, rollout(system, integrator, z, times, step, section.tolerance, progress)
