"""What a peer solver leaves behind: a JSON record with the time of every stage, and the values of u(T) beside it.

out.json   {"peer", "problem", "settings": {…}, "seconds": {stage: s, …}, "unknowns"}
out.npy    u(T) at the given points, shape (n,)

Stages: import (numpy, scipy, the finite element package), geometry (curve, mesh, curving, tables of the mapping at quadrature points),
realisation (assembly), factorisation, forcing (tables and values of the manufactured source), stepping (all else of the time loop,
start-up included), output (finding the points in the mesh and evaluating there). Only gleg has the stage choice: its trial solutions, if
it is told nothing but an accuracy.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# A solver imports this module before numpy: the linear algebra libraries read these when they are loaded.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
os.environ.pop("OPENBLAS_CORETYPE", None)  # each library takes the kernels it has for this processor

STAGES = ("import", "choice", "geometry", "factorisation", "realisation", "stepping", "forcing", "output")
PROBLEMS = ("mms-1-rosette", "mms-5-pinwheel", "allen-cahn-disk")


@dataclass
class Clock:
    """Seconds per stage. A stage inside another one counts for itself only."""

    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(STAGES, 0.0))
    _running: list[str] = field(default_factory=list)
    _since: float = 0.0

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        self._switch()
        self._running.append(name)
        try:
            yield
        finally:
            self._switch()
            self._running.pop()

    def _switch(self) -> None:
        """Book the time since the last switch to the innermost stage."""
        now = time.perf_counter()
        if self._running:
            self.seconds[self._running[-1]] += now - self._since
        self._since = now


@dataclass(frozen=True)
class Settings:
    """What is chosen for speed and accuracy.

    ``order``: polynomial degree; ``maxh``: largest length of an edge; ``bend``: largest turning angle of a boundary edge, so that narrow
    tips get short edges; ``steps``: number of time steps; ``bdf``: order of the multistep formula.
    """

    order: int
    maxh: float
    bend: float
    steps: int
    bdf: int


@dataclass(frozen=True)
class Task:
    """A command line: the problem, the settings, where the points are and where the outcome goes."""

    problem: str
    settings: Settings
    points: Path
    out: Path


def read_task(description: str | None, arguments: list[str] | None = None) -> Task:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problem", choices=PROBLEMS)
    parser.add_argument("--order", type=int, required=True, help="polynomial degree of the elements and of their edges")
    parser.add_argument("--maxh", type=float, required=True, help="largest length of an edge")
    parser.add_argument("--bend", type=float, default=0.8, help="largest turning angle of a boundary edge in radians")
    parser.add_argument("--steps", type=int, required=True, help="number of time steps")
    parser.add_argument("--bdf", type=int, default=4, choices=range(1, 7), help="order of the multistep formula")
    parser.add_argument("--points", type=Path, required=True, help=".npy with points (n, 2) inside the domain")
    parser.add_argument("--out", type=Path, required=True, help=".json to write; the values go to .npy beside it")
    given = parser.parse_args(arguments)
    settings = Settings(given.order, given.maxh, given.bend, given.steps, given.bdf)
    return Task(given.problem, settings, given.points, given.out)


def write_outcome(peer: str, task: Task, clock: Clock, unknowns: int, values: Any, details: dict[str, Any]) -> None:
    """``values``: u(T) at the points, an array (n,); ``details``: more numbers worth keeping, such as the count of elements."""
    import numpy as np

    record = {
        "peer": peer,
        "problem": task.problem,
        "settings": vars(task.settings) | details,
        "seconds": clock.seconds,
        "unknowns": unknowns,
    }
    task.out.parent.mkdir(parents=True, exist_ok=True)
    task.out.write_text(json.dumps(record, indent=1) + "\n")
    np.save(task.out.with_suffix(".npy"), np.asarray(values))
