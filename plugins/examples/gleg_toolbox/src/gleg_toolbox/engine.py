"""An engine of ``gleg sweep``, which imports this module when it is chosen: gleg-sweeps is installed then."""

from collections.abc import Generator, Sequence
from pathlib import Path

from gleg_sweeps.cases import Case
from gleg_sweeps.outcome import Outcome, solve_case


def run_cases(cases: Sequence[Case], runs: Path | None, jobs: int) -> Generator[tuple[Case, Outcome]]:
    """One after the other in this process, however many ``jobs`` are allowed."""
    for case in cases:
        yield case, solve_case(case, runs)
