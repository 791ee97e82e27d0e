"""Cases solved by the workers of a Dask cluster: a case whose worker dies is given to another one."""

import logging
from collections.abc import Generator, Sequence
from contextlib import ExitStack
from pathlib import Path

from gleg_core.errors import GlegError
from gleg_sweeps.cases import Case
from gleg_sweeps.outcome import INTERNAL, Outcome, failed, solve_case


def run_cases(
    cases: Sequence[Case], runs: Path | None, jobs: int, scheduler: str | None = None
) -> Generator[tuple[Case, Outcome]]:
    """Every case with its outcome, as they end. Without the address of a ``scheduler``: a cluster of ``jobs`` processes here."""
    from distributed import Client, LocalCluster, as_completed

    with ExitStack() as stack:
        if scheduler is None:
            cluster = LocalCluster(
                n_workers=jobs, threads_per_worker=1, dashboard_address=None, silence_logs=logging.ERROR
            )
            scheduler = stack.enter_context(cluster).scheduler_address
        try:
            client = stack.enter_context(Client(scheduler, timeout=10))
        except (OSError, ValueError) as error:
            raise GlegError(f"--scheduler {scheduler}: no Dask scheduler answers there ({error})") from None
        futures = {client.submit(solve_case, case, runs, pure=False, retries=3): case for case in cases}
        ended = as_completed(list(futures))
        for future in ended:
            if future.status in ("pending", "lost"):  # its worker died with the result: the cluster solves it again
                ended.add(future)
                continue
            case = futures.pop(future)
            if future.status == "finished":
                yield case, future.result()
            elif future.status == "error":
                yield case, failed(case, f"{type(future.exception()).__name__}: {future.exception()}", INTERNAL)
            else:
                raise GlegError(
                    f"{scheduler}: lost the connection to the Dask scheduler. Finished cases are kept, the same command goes on"
                )
