"""``gleg sweep``: progress, the table at the end, what was written."""

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from gleg_core import atomic
from gleg_core.errors import GlegError, OutputError, PackError
from gleg_core.registry import default_registry
from gleg_core.spec.blame import failure
from gleg_core.spec.loading import Document
from gleg_core.terminal import Terminal
from gleg_sweeps.cases import Case, Plan, plan_sweep
from gleg_sweeps.outcome import Engine, Outcome, keep, kept
from gleg_sweeps.values import parse_variation

_ROWS = 40
"""Rows of the table on the terminal."""
_HEADS = {"error_final": "error", "error_mean": "mean", "error_max": "max", "boundary_residual": "residual"}
_SHOWN = (*_HEADS, "r", "steps", "seconds")


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@click.command()
@click.argument("problem", type=click.Path(path_type=Path))
@click.option(
    "--vary",
    "varied",
    multiple=True,
    required=True,
    metavar="KEY=VALUES",
    help="A key as for --set, and its values: 10,14,18  0.2:2:25 (start:stop:count)  logspace(-3,-1,40)  linspace(0,1,5)  "
    "range(10,24,4). Several --vary: all combinations.",
)
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Replace a value of PROBLEM. May be repeated."
)
@click.option("--zip", "zipped", is_flag=True, help="Walk the varied keys together instead of all combinations.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the results. Default: NAME-sweep.")
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Processes at a time. Default: one per core.")
@click.option(
    "--engine", default="local", show_default=True, help="Who solves: local, batch, dask, or one of another pack."
)
@click.option("--scheduler", metavar="ADDRESS", help="Dask scheduler, e.g. tcp://host:8786. Default: a cluster here.")
@click.option("--keep-runs", is_flag=True, help="Also write a folder for every case, as gleg run does, to OUT/runs.")
@click.option("--fresh", is_flag=True, help="Run every case again. Default: only those that are missing in OUT/cases.")
@click.option("--quiet", is_flag=True, help="Print errors only.")
@click.option("--ignore-lock", is_flag=True, help="Run even if the packs are not those of the lock.")
@click.pass_obj
def sweep(
    terminal: Terminal,
    problem: Path,
    varied: tuple[str, ...],
    settings: tuple[str, ...],
    out: Path | None,
    ignore_lock: bool,
    **options: Any,
) -> None:
    """Solve PROBLEM for many values of some of its keys; one table, one dataset, one picture. Goes on after a kill."""
    if options["scheduler"] and options["engine"] != "dask":
        raise click.UsageError("--scheduler belongs to --engine dask")
    document = terminal.document(problem, ignore_lock=ignore_lock)
    sys.exit(sweep_problem(document, settings, varied, out or Path(f"{problem.stem}-sweep"), **options))


def sweep_problem(
    document: Document,
    settings: Sequence[str],
    varied: Sequence[str],
    out: Path,
    *,
    engine: str = "local",
    scheduler: str | None = None,
    zipped: bool = False,
    jobs: int | None = None,
    keep_runs: bool = False,
    fresh: bool = False,
    quiet: bool = False,
) -> int:
    """Run what is missing, write everything, summarise. The exit status is that of the worst case, 130 if interrupted."""
    console = Console(quiet=quiet, highlight=False)
    registry = default_registry()
    offered = registry.required("gleg_engines", engine)
    solve_cases: Engine = registry.target(offered)
    if scheduler:  # only Dask's engine has one
        solve_cases = partial(solve_cases, scheduler=scheduler)  # type: ignore[call-arg]
    with console.status("checking all cases"):
        plan = plan_sweep(document, settings, [parse_variation(text) for text in varied], zipped)
    _check_target(out)
    if fresh:
        for name in ("cases", "runs"):
            shutil.rmtree(out / name, ignore_errors=True)
    (out / "cases").mkdir(parents=True, exist_ok=True)
    runs = (out / "runs").resolve() if keep_runs else None
    results = {
        case.digest: outcome
        for case in plan.cases
        if (outcome := kept(out, case)) and (runs is None or outcome["code"] or (runs / case.digest).is_dir())
    }
    missing = [case for case in plan.in_order() if case.digest not in results]
    jobs = min(jobs or cores(), max(len(missing), 1))
    there = f", {len(plan.cases) - len(missing)} there already" if len(missing) < len(plan.cases) else ""
    console.print(Text(f"sweep    {len(plan.cases)} cases{there}; {scheduler or f'{jobs} at a time'}"), soft_wrap=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a scheduler's kill keeps what was reached, like Ctrl-C
    interrupted = False
    try:
        with _progress(console, len(missing)) as tell, closing(solve_cases(missing, runs, jobs)) as outcomes:
            for case, outcome in outcomes:
                keep(out, case, outcome)
                results[case.digest] = outcome
                tell(case, outcome)
    except KeyboardInterrupt:
        interrupted = True
        console.print(f"[yellow]interrupted; {len(results)} cases are kept, the same command goes on from there[/]")
    except (Exception, SystemExit) as error:
        if offered.pack.first_party or isinstance(error, GlegError):
            raise
        raise PackError(failure(offered.pack, f"while its engine '{engine}' solved cases", error)) from error
    if results:
        _write(plan, results, out, console)
    failures = [outcome for outcome in results.values() if outcome["code"]]
    for outcome in failures[:5]:
        click.echo(f"failed: {', '.join(outcome['case'])}: {outcome['failure']}", err=True)
    if failures:
        click.echo(
            f"{len(failures)} of {len(plan.cases)} cases failed: {out / 'table.csv'}, column 'failure'", err=True
        )
    return 130 if interrupted else max((f["code"] for f in failures), default=0)


def _check_target(out: Path) -> None:
    ours = {"runs", "table.csv", "sweep.nc", "sweep.png"}
    strange = out.is_dir() and not (out / "cases").is_dir() and any(p.name not in ours for p in out.iterdir())
    if out.is_file() or strange:
        raise OutputError(f"{out}: is not a sweep of gleg; choose another folder with --out")


@contextmanager
def _progress(console: Console, total: int) -> Iterator[Any]:
    """A bar on a terminal, a line per finished case in a log."""
    bar = Progress(
        TextColumn("[bold]sweep   [/]"), BarColumn(bar_width=None), MofNCompleteColumn(),
        TextColumn("{task.fields[failed]}"), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(),
        console=console, transient=True, disable=console.quiet or not console.is_terminal,
    )  # fmt: skip
    task, failed, done = bar.add_task("sweep", total=total, failed=""), 0, 0

    def tell(case: Case, outcome: Outcome) -> None:
        nonlocal failed, done
        failed, done = failed + (outcome["code"] != 0), done + 1
        bar.update(task, advance=1, failed=f"{failed} failed" if failed else "")
        if not console.is_terminal:
            console.print(Text(f"{done}/{total}  {case}  {_short_outcome(outcome)}"), soft_wrap=True)

    with bar:
        yield tell


def _short_outcome(outcome: Outcome) -> str:
    from gleg_sweeps.table import measures

    if outcome["metrics"] is None:
        return "failed"
    found = measures(outcome["metrics"])
    return f"error {found['error_final']:.2e}  r {found['r']}  {found['seconds']:.2f} s"


def _write(plan: Plan, results: dict[str, Outcome], out: Path, console: Console) -> None:
    """table.csv, sweep.nc and sweep.png, each whole or not at all; the table on the terminal."""
    with console.status("writing"):
        from gleg_sweeps.picture import draw
        from gleg_sweeps.table import as_csv, as_dataset, rows

        table = rows(plan, results)
        data = as_dataset(plan, table, str(plan.cases[0].document.data.get("title") or ""))
        atomic.write_text(out / "table.csv", as_csv(table))
        with tempfile.TemporaryDirectory(dir=out, prefix=".") as folder:
            data.to_netcdf(Path(folder, "sweep.nc"), engine="h5netcdf")
            draw(plan, data).savefig(Path(folder, "sweep.png"), dpi=130)
            for path in Path(folder).iterdir():
                path.replace(out / path.name)
    console.print(_summary(plan, table))
    console.print(Text(f"wrote    {out}/: table.csv  sweep.nc  sweep.png  cases/"), soft_wrap=True)


def _summary(plan: Plan, table: list[dict[str, Any]]) -> Table:
    """Varied keys and the measures that there are; the first rows of a long table."""
    from gleg_sweeps.table import columns

    keys = [v.key for v in plan.variations]
    there = columns(table)
    masses = [name for name in there if name.endswith("_mass")] if "error_final" not in there else []
    names = [*keys, *masses, *(name for name in _SHOWN if name in there)]
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for name in names:
        shown.add_column(Text(_HEADS.get(name, name)), justify="right", overflow="fold")
    for row in table[:_ROWS]:
        values = [row.get(name, "–") for name in names]
        cells = [f"{v:.3g}" if isinstance(v, float) else str(v) for v in values]
        shown.add_row(*map(Text, cells), style="red" if row["failure"] else None)
    if len(table) > _ROWS:
        shown.caption = f"and {len(table) - _ROWS} more rows in table.csv"
    return shown
