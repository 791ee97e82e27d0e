"""``gleg run``: progress, summary table, what was written."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from gleg_core.spec.problem import Problem

if TYPE_CHECKING:
    from gleg_core.run import Run

_REFRESH = 0.1
"""Seconds between two updates of the progress bar: a step may take microseconds."""


class Display:
    """A line per stage and, on a terminal, a progress bar with the time left for the rollout."""

    def __init__(self, console: Console, start: float):
        self._console = console
        self._start = start
        self._next = 0.0
        self._bar: Progress | None = None
        self._task: Any = None

    def stage(self, name: str, facts: str, seconds: float) -> None:
        self.close()
        line = Text.assemble((f"{name:8s} ", "bold"), facts, (f"  {seconds:.2f} s", "dim"))
        self._console.print(line, soft_wrap=True)

    def progress(self, t: float, end: float) -> None:
        if not self._console.is_terminal or self._console.quiet or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _REFRESH
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


def run_problem(problem: Problem, folder: Path, quiet: bool) -> int:
    """Solve, write, summarise; the exit code is 130 if the run was interrupted."""
    console = Console(quiet=quiet, highlight=False)
    result = solve_and_save(problem, folder, console)
    if (folder / "fields.png").exists():
        console.print(Text(f"next     open {folder / 'fields.png'}"), soft_wrap=True)
        console.print(Text(f"         gleg resolve {problem.document.name}"), soft_wrap=True)
        console.print(Text("         gleg packs"), soft_wrap=True)
    return 130 if result.trajectory.interrupted else 0


def solve_and_save(problem: Problem, folder: Path, console: Console) -> Run:
    """Solve, write the folder and print a summary."""
    with console.status("loading"):
        from gleg_results.folder import RUN  # imports torch: after validation, behind the spinner
        from gleg_results.metrics import remarks
        from gleg_results.replaced_folder import check_target
        from gleg_core.solver import solve

        check_target(folder, RUN)
    display = Display(console, problem.section.time.start)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a scheduler's kill keeps what was reached, like Ctrl-C
    try:
        result = solve(problem, listener=display)
    finally:
        display.close()
    if result.trajectory.interrupted:
        console.print(f"[yellow]interrupted at t = {result.times[-1]:g}; writing what was reached[/]")
    with console.status("writing"):
        files = result.save(folder)
    scored = {name: f["relative_l2"] for name, f in result.metrics["fields"].items() if "relative_l2" in f}
    for line in remarks(problem, scored):
        click.echo(f"warning: {line}", err=True)
    console.print(_summary(result.metrics))
    times = "  ".join(f"{stage} {seconds:.2f} s" for stage, seconds in result.metrics["timing"].items())
    console.print(Text(f"time     {times}", style="dim"), soft_wrap=True)
    console.print(Text(f"wrote    {folder}/: {'  '.join(files)}"), soft_wrap=True)
    return result


def _summary(metrics: dict[str, Any]) -> Table:
    table = Table(show_header=True, header_style="bold", box=None, pad_edge=False)
    table.add_column("field", no_wrap=True)
    own = {n: f["relative_l2"]["reference_error"] for n, f in metrics["fields"].items() if "relative_l2" in f}
    referred = any(own.values())
    titles = ("reference", "boundary") if referred else ("boundary residual",)
    for title in ("error at end", "mean", "max", *titles, "relative", "r"):
        table.add_column(title, justify="right", no_wrap=True)
    for name, f in metrics["fields"].items():
        error = f.get("relative_l2")
        errors = [f"{error[k]:.2e}" for k in ("final", "mean", "max")] if error else ["–"] * 3
        if referred:
            errors.append(f"{own[name]:.1e}" if name in own else "–")
        b = f["boundary_residual"]
        table.add_row(name, *errors, f"{b['rms']:.2e}", f"{b['relative']:.2e}", str(f["space"]["r"]))
    return table
