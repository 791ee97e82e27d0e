"""Progress on a terminal."""

import time
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text


class ProgressDisplay:
    """A line per stage and, on a terminal, a progress bar with the time left for the rollout."""

    def __init__(self, console: Console, start: float):
        self._console, self._start, self._next = console, start, 0.0
        self._bar: Progress | None = None
        self._task: Any = None

    def stage(self, name: str, facts: str, seconds: float) -> None:
        self.close()
        line = Text.assemble((f"{name:8s} ", "bold"), facts, (f"  {seconds:.2f} s", "dim"))
        self._console.print(line, soft_wrap=True)

    def progress(self, t: float, end: float) -> None:
        if not self._console.is_terminal or self._console.quiet or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + 0.1  # a step may take microseconds
        if self._bar is None:
            self._bar = Progress(
                TextColumn("[bold]rollout [/]"), BarColumn(bar_width=None),
                TextColumn("{task.percentage:3.0f} %  t = {task.fields[t]:.4g}"),
                TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(), console=self._console, transient=True,
            )  # fmt: skip
            self._task = self._bar.add_task("rollout", total=end - self._start, t=t)
            self._bar.start()
        self._bar.update(self._task, completed=t - self._start, t=t)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
