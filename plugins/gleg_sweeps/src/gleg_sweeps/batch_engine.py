"""Cases that share everything but initial states and constant coefficients, solved together in one rollout."""

from collections import defaultdict
from collections.abc import Generator, Sequence
from pathlib import Path

from gleg_core.errors import GlegError
from gleg_core.spec.problem import load_problem
from gleg_sweeps.cases import Case
from gleg_sweeps.outcome import Outcome, failed, outcome_of

_TOGETHER = 256
"""Cases in one rollout: enough for products of matrices at full speed."""


def run_cases(cases: Sequence[Case], runs: Path | None, jobs: int) -> Generator[tuple[Case, Outcome]]:
    """Every case with its outcome. Cases are grouped by their spaces; in this process, with ``jobs`` threads."""
    from gleg_core.threads import at_most
    from gleg_sweeps.ensembles import solve_together

    groups: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        groups[case.space].append(case)
    pieces = [group[i : i + _TOGETHER] for group in groups.values() for i in range(0, len(group), _TOGETHER)]
    for piece in pieces:
        try:
            with at_most(jobs):
                solved = solve_together([load_problem(case.document) for case in piece])
        except GlegError as error:
            yield from ((case, failed(case, str(error), error.exit_code)) for case in piece)
            continue
        if solved.trajectory.interrupted:
            raise KeyboardInterrupt
        for case, run in zip(piece, solved, strict=True):
            yield case, outcome_of(case, run, runs)
