"""``gleg run``: progress, summary table, what was written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from gleg_core.spec.problem import load_problem


class Display:
    """A line per stage and a progress bar with the time left for the rollout."""

    def __init__(self, console: Console):
        self._console = console
        self._bar: Progress | None = None
        self._task: Any = None

    def stage(self, name: str, facts: str, seconds: float) -> None:
        self.close()
        self._console.print(f"[bold]{name:8s}[/] {facts}  [dim]{seconds:.2f} s[/]", highlight=False)

    def progress(self, t: float, end: float) -> None:
        if self._bar is None:
            self._bar = Progress(
                TextColumn("[bold]rollout [/]"), BarColumn(), TextColumn("{task.percentage:3.0f} %  t = {task.fields[t]:.4g}"),
                TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(), console=self._console, transient=True,
            )  # fmt: skip
            self._task = self._bar.add_task("rollout", total=end, t=t)
            self._bar.start()
        self._bar.update(self._task, completed=t, t=t)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def run_problem(path: Path, overrides: dict[str, Any], out: Path | None, quiet: bool) -> int:
    """Solve, write, summarise; the exit code is 130 if the run was interrupted."""
    folder = out or Path(f"{path.stem}-run")
    problem = load_problem(path, overrides)
    console = Console(quiet=quiet)
    with console.status("loading"):
        from gleg_core.results.folder import check_target  # imports matplotlib: after validation, behind the spinner
        from gleg_core.solve import solve

        check_target(folder)
    display = Display(console)
    try:
        result = solve(problem, listener=display)
    finally:
        display.close()
    if result.trajectory.interrupted:
        console.print(f"[yellow]interrupted at t = {result.times[-1]:g}; writing what was reached[/]")
    with console.status("writing"):
        files = result.save(folder)
    console.print(_summary(result.metrics))
    console.print(f"wrote {folder}/: {'  '.join(files)}", highlight=False)
    if "fields.png" in files:
        console.print(
            f"next:  open {folder / 'fields.png'}   ·   gleg resolve {path}   ·   gleg packs", highlight=False
        )
    return 130 if result.trajectory.interrupted else 0


def _summary(metrics: dict[str, Any]) -> Table:
    table = Table(show_header=True, header_style="bold", box=None, pad_edge=False)
    table.add_column("field")
    for title in ("error at end", "mean", "max", "boundary residual", "relative", "r"):
        table.add_column(title, justify="right")
    for name, f in metrics["fields"].items():
        error = f.get("relative_l2")
        errors = [f"{error[k]:.2e}" for k in ("final", "mean", "max")] if error else ["–"] * 3
        b = f["boundary_residual"]
        table.add_row(name, *errors, f"{b['rms']:.2e}", f"{b['relative']:.2e}", str(f["space"]["r"]))
    times = ", ".join(f"{stage} {seconds:.2f} s" for stage, seconds in metrics["timing"].items())
    table.caption = f"time: {times}"
    table.caption_justify = "left"
    return table
