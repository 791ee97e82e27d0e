"""``gleg run``: progress, summary table, what was written."""

import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gleg_cli.display import ProgressDisplay
from gleg_cli.options import FILE, OUT, SET
from gleg_core.errors import NumericsError
from gleg_core.spec.problem import Problem
from gleg_core.terminal import Terminal

if TYPE_CHECKING:
    from gleg_core.run import Run


_SEEN = 0.005
"""Seconds that a stage takes at least if it is in the summary."""


@click.command()
@FILE
@SET
@OUT
@click.option("--movie", is_flag=True, help="Also write an animation.")
@click.option("--quiet", is_flag=True, help="Print errors only.")
@click.option("--locked", is_flag=True, help="Refuse to run without a lock (gleg lock) beside PROBLEM.")
@click.option("--ignore-lock", is_flag=True, help="Run even if the packs are not those of the lock.")
@click.pass_obj
def run(
    terminal: Terminal,
    problem: Path,
    settings: tuple[str, ...],
    out: Path | None,
    movie: bool,
    quiet: bool,
    locked: bool,
    ignore_lock: bool,
) -> None:
    """Solve PROBLEM and write one folder: fields, metrics, pictures, resolved spec. Ctrl-C keeps what was reached."""
    if locked and ignore_lock:
        raise click.UsageError("--locked and --ignore-lock exclude each other")
    document = terminal.document(problem, locked=locked, ignore_lock=ignore_lock)
    checked = terminal.problem(document, settings, **({"output": {"movie": True}} if movie else {}))
    sys.exit(run_problem(checked, out or Path(f"{problem.stem}-run"), quiet))


def run_problem(problem: Problem, folder: Path, quiet: bool) -> int:
    """Solve, write, summarise; the exit code is 130 if the run was interrupted."""
    console = Console(quiet=quiet, highlight=False)
    result = solve_and_save(problem, folder, console)
    if (folder / "fields.png").exists():
        console.print(Text(f"next     open {folder / 'fields.png'}"), soft_wrap=True)
        console.print(Text(f"         gleg resolve {problem.document.name}"), soft_wrap=True)
        console.print(Text("         gleg --help"), soft_wrap=True)
    return 130 if result.trajectory.interrupted else 0


def solve_and_save(problem: Problem, folder: Path, console: Console) -> "Run":
    """Solve, write the folder and print a summary."""
    with console.status("loading"):
        from gleg_core.solver import solve  # imports torch: after validation, behind the spinner
        from gleg_results.folder import RUN
        from gleg_results.metrics import remarks
        from gleg_results.replaced_folder import check_target

        check_target(folder, RUN)
    display = ProgressDisplay(console, problem.section.time.start)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a scheduler's kill keeps what was reached, like Ctrl-C
    failed: NumericsError | None = None
    try:
        result = solve(replace(problem, notes=()), listener=display)  # they have been told
    except NumericsError as error:
        if error.run is None or len(error.run.times) < 2:
            raise
        result, failed = error.run, error
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
    times = "  ".join(
        f"{stage} {seconds:.2f} s" for stage, seconds in result.metrics["timing"].items() if seconds >= _SEEN
    )
    console.print(Text(f"time     {times}", style="dim"), soft_wrap=True)
    console.print(Text(f"wrote    {folder}/: {'  '.join(files)}"), soft_wrap=True)
    if failed is not None:
        raise failed
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
