"""Solving a problem from start to end."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from gleg_core.automatic import is_wanted, require_resolution, solve_to_accuracy
from gleg_core.contracts.integrator import Integrator
from gleg_core.run import Run
from gleg_core.spec import validation  # noqa: F401 (load_problem imports it when it is called, and every run calls it)
from gleg_core.spec.loading import load_document
from gleg_market.lock import check_lock
from gleg_core.spec.problem import Problem, load_problem
from gleg_core.system.discretise import discretise
from gleg_core.system.rollout import rollout
from gleg_core.threads import one_thread


class Listener(Protocol):
    """What a display of progress provides."""

    def stage(self, name: str, facts: str, seconds: float) -> None:
        """A stage is done."""

    def progress(self, t: float, end: float) -> None:
        """The rollout has reached ``t``."""


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
    listener = listener or Silent()
    clock = Clock()
    if isinstance(source, str | Path):
        document = load_document(source)
        for text in check_lock(document, required=locked, refuse=locked):
            warnings.warn(text, stacklevel=2)
        source = load_problem(document, overrides)
    problem = source if isinstance(source, Problem) else load_problem(source, overrides)
    clock.lap("validate")
    with problem.located(), torch.no_grad():
        try:
            return _to_accuracy(problem, listener, clock) if is_wanted(problem) else _solve(problem, listener, clock)
        except SystemExit as error:  # a pack must not end the program as if all were well
            raise RuntimeError(f"SystemExit: {error.code}").with_traceback(error.__traceback__) from None


def _to_accuracy(problem: Problem, listener: Listener, clock: Clock) -> Run:
    """Solve with what the file leaves open chosen for its accuracy; only the stages of the last trial are told."""
    require_resolution(problem)
    told: dict[int, list[tuple[str, str, float]]] = {}

    def trial(changed: Problem) -> Run:
        stages = _Stages(listener)
        run = _solve(changed, stages, Clock())
        told[id(run)] = stages.lines
        return run

    run, choice = solve_to_accuracy(problem, trial, listener)
    run.choice = choice
    run.timing = {**clock.laps, "choose": clock.lap("choose") - sum(run.timing.values()), **run.timing}
    for line in told[id(run)]:
        listener.stage(*line)
    listener.stage("estimate", str(choice), 0.0)
    return run


class _Stages:
    """Keeps the stages of a trial, shows its progress."""

    def __init__(self, listener: Listener):
        self.lines: list[tuple[str, str, float]] = []
        self.progress = listener.progress

    def stage(self, name: str, facts: str, seconds: float) -> None:
        self.lines.append((name, facts, seconds))


def _solve(problem: Problem, listener: Listener, clock: Clock) -> Run:
    def report(stage: str, facts: str) -> None:
        listener.stage(stage, facts, clock.lap(stage))

    d = discretise(problem, report)
    section = problem.section.time
    integrator: Integrator = problem.build(problem.integrator)
    times = np.linspace(section.start, section.end, problem.section.output.frames + 1).tolist()
    with one_thread():
        trajectory = rollout(
            d.system,
            integrator,
            d.initial,
            times,
            None if section.step == "auto" else section.step,
            section.tolerance,
            lambda t: listener.progress(t, section.end),
        )
    seconds = clock.lap("rollout")
    listener.stage(
        "rollout",
        f"{trajectory.steps:,} steps of at most {trajectory.longest:.3g} to t = {trajectory.times[-1]:g}",
        seconds,
    )
    return Run(d, integrator, trajectory, clock.laps)


class Clock:
    """Seconds by stage, from its making on."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> float:
        now = time.perf_counter()
        seconds, self._last = now - self._last, now
        self.laps[name] = self.laps.get(name, 0.0) + seconds
        return seconds
