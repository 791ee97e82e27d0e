"""One case solved: its metrics, or why there are none. Kept as one JSON file per case, from which a sweep goes on after a kill."""

import json
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from gleg_core import atomic
from gleg_core.errors import GlegError, OutputError, PackError
from gleg_core.spec.problem import load_problem, packs_of
from gleg_sweeps.cases import Case

if TYPE_CHECKING:
    from gleg_core.run import Run

INTERNAL = 70


class Outcome(TypedDict):
    """``metrics`` of the run; or ``failure``, a message, and ``code``, the exit status a single run would have had."""

    case: list[str]
    metrics: dict[str, Any] | None
    failure: str
    code: int


Engine = Callable[[Sequence[Case], "Path | None", int], Generator[tuple[Case, Outcome]]]
"""Solve cases with so many processes, in any order; run folders go below the path, if there is one. Closing it ends them."""


def solve_case(case: Case, runs: Path | None) -> Outcome:
    """What a worker does. A mistake of the case is an outcome like any other; the run folder is ``runs``/digest."""
    from gleg_core.solver import solve

    try:
        problem = load_problem(case.document)
        found = {pack.id: pack.version for pack in packs_of(problem)}
        if other := sorted(set(case.packs.items()) - set(found.items())):
            names = ", ".join(f"{pack} {version} → {found.get(pack, 'none')}" for pack, version in other)
            raise PackError(f"this worker has other packs than the machine that started the sweep: {names}")
        run = solve(problem)
        if run.trajectory.interrupted:
            raise KeyboardInterrupt
        return outcome_of(case, run, runs)
    except GlegError as error:
        return failed(case, str(error), error.exit_code)
    except Exception as error:
        return failed(case, f"internal error: {type(error).__name__}: {error}", INTERNAL)


def outcome_of(case: Case, run: "Run", runs: Path | None) -> Outcome:
    """The outcome of a solved case, its folder written if asked for."""
    from gleg_results.replaced_folder import finite

    metrics = finite(run.metrics)
    if runs is not None:
        run.save(runs / case.digest)
    return Outcome(case=list(case.settings), metrics=metrics, failure="", code=0)


def failed(case: Case, message: str, code: int) -> Outcome:
    return Outcome(case=list(case.settings), metrics=None, failure=message, code=code)


def case_path(out: Path, case: Case) -> Path:
    return out / "cases" / f"{case.digest}.json"


def keep(out: Path, case: Case, outcome: Outcome) -> None:
    atomic.write_text(case_path(out, case), json.dumps(outcome, indent=1, allow_nan=False) + "\n")


def kept(out: Path, case: Case) -> Outcome | None:
    """The outcome of an earlier sweep, unless it failed for a reason that is not the problem's: killed, disk full, a defect."""
    try:
        outcome = json.loads(case_path(out, case).read_bytes())
        if outcome["code"] not in (OutputError.exit_code, INTERNAL, PackError.exit_code):
            return Outcome(**{key: outcome[key] for key in Outcome.__annotations__})  # type: ignore[typeddict-item]
    except (OSError, ValueError, KeyError, TypeError):
        pass  # none, or not one of ours: it is run again
    return None
