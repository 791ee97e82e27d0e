"""Cases solved by processes of this machine, one thread each."""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from gleg_sweeps.cases import Case
from gleg_sweeps.outcome import INTERNAL, Outcome, failed, solve_case

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def run_cases(cases: Sequence[Case], runs: Path | None, jobs: int) -> Generator[tuple[Case, Outcome]]:
    """Every case with its outcome, as they end. Leaving the iteration ends the processes.

    A process that is killed, most likely for lack of memory, costs no case: half as many go on, and the case is tried once more.
    """
    waiting, again = deque(cases), set[str]()
    idle: list[_Worker] = []
    busy: dict[Any, tuple[_Worker, Case]] = {}
    try:
        while waiting or busy:
            while waiting and len(busy) < jobs:
                worker, case = idle.pop() if idle else _Worker(runs), waiting.popleft()
                with suppress(OSError):  # it is dead: seen below
                    worker.connection.send(case)
                busy[worker.connection] = worker, case
            for connection in wait(list(busy)):
                worker, case = busy.pop(connection)
                outcome = worker.outcome()
                if outcome is not None:
                    idle.append(worker)
                    yield case, outcome
                    continue
                jobs, how = max(1, jobs // 2), worker.epitaph()
                if case.digest in again:
                    yield case, failed(case, f"{how}, twice: is there enough memory?", INTERNAL)
                else:
                    again.add(case.digest)
                    waiting.append(case)
            while idle and len(idle) + len(busy) > jobs:
                idle.pop().end()
    finally:
        for worker in [*idle, *(w for w, _ in busy.values())]:
            worker.end()


class _Worker:
    """A process that solves the cases it is sent, one after the other."""

    def __init__(self, runs: Path | None):
        self.connection, theirs = multiprocessing.Pipe()
        self._process: SpawnProcess = multiprocessing.get_context("spawn").Process(
            target=_serve, args=(theirs, runs), daemon=True
        )
        with _one_thread():
            self._process.start()
        theirs.close()  # then the end of the process closes the pipe

    def outcome(self) -> Outcome | None:
        """What it found; None if it has died."""
        try:
            return self.connection.recv()
        except (EOFError, OSError):
            return None

    def epitaph(self) -> str:
        """How it died."""
        self._process.join()
        self.connection.close()
        code = self._process.exitcode or 0
        return f"its process ended by {signal.Signals(-code).name}" if code < 0 else f"its process ended with {code}"

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self.connection.close()


def _serve(connection: Connection, runs: Path | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of a terminal: the first one decides
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        connection.send(solve_case(connection.recv(), runs))


def _end_with_parent() -> None:
    """A sweep that is killed leaves no processes behind."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


@contextmanager
def _one_thread() -> Iterator[None]:
    """For processes started inside. Libraries read these variables when they are loaded."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ |= dict.fromkeys(_THREADS, "1")
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
