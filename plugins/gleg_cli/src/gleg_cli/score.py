"""``gleg score``: the score of a run as tables, score.json and score.png."""

import json
import sys
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gleg_cli.display import ProgressDisplay
from gleg_cli.run import solve_and_save
from gleg_core import atomic
from gleg_core.errors import OutputError
from gleg_core.spec.problem import Problem
from gleg_core.terminal import Terminal

if TYPE_CHECKING:
    from gleg_core.run import Run

_PART_NAMES = {
    "best_approximation": "best approximation", "galerkin": "Galerkin", "time": "time steps", "reference": "reference's own",
}  # fmt: skip


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--points", type=click.IntRange(100, 1_000_000), metavar="N", help="Independent points.  [default: 10000]"
)
@click.option("--no-time-error", is_flag=True, help="Do not repeat the rollout with finer steps.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
@click.pass_obj
def score(terminal: Terminal, run: Path, points: int | None, no_time_error: bool, as_json: bool) -> None:
    """Score RUN, a folder written by gleg run (or a problem file, which is run first): error on independent points and where it
    comes from, boundary residuals, balances. Writes score.json and score.png into the folder."""
    problem = None if run.is_dir() else terminal.problem(terminal.document(run))
    sys.exit(score_run(run, problem, points, not no_time_error, as_json))


def score_run(source: Path, problem: Problem | None, points: int | None, time_error: bool, as_json: bool) -> int:
    """Score the run in the folder ``source``, or solve ``problem`` of the file ``source`` first."""
    console = Console(quiet=as_json, highlight=False)
    folder = source if problem is None else Path(f"{source.stem}-run")
    changed: list[str] = []
    if problem is not None:
        run = solve_and_save(problem, folder, console)
        if run.trajectory.interrupted:
            click.echo(f"interrupted; gleg score {folder} scores what was reached", err=True)
            return 130
    else:
        run, changed = _stored(folder, console)
    display = ProgressDisplay(console, float(run.times[0]))
    from gleg_results.replaced_folder import finite
    from gleg_results.score import POINTS
    from gleg_results.score import score as score_of
    from gleg_results.score_picture import score_picture

    end = float(run.times[-1])
    try:
        found = score_of(run, points or POINTS, time_error, lambda t: display.progress(t, end))
    except KeyboardInterrupt:
        click.echo(f"interrupted; {folder} holds the run, no score was written", err=True)
        return 130
    finally:
        display.close()
    data = {**found.data, "changed_packs": changed}
    text = json.dumps(finite(data), indent=1, allow_nan=False)
    with console.status("drawing"):
        _write(folder, text, score_picture(run, found))
    for line in [*changed, *data["remarks"]]:
        click.echo(f"note: {line}", err=True)
    if as_json:
        click.echo(text)
        return 0
    for table in _tables(data):
        console.print()
        console.print(table)
    console.print(Text(f"\nwrote    {folder}/: score.json  score.png"), soft_wrap=True)
    return 0


def _stored(folder: Path, console: Console) -> "tuple[Run, list[str]]":
    """The run in a folder, and the packs that have changed since it was written."""
    with console.status("reading the run"):
        from gleg_results.stored import changed_packs, load_run, stored_problem

        problem = stored_problem(folder)
        return load_run(problem, folder), changed_packs(problem, folder)


def _write(folder: Path, text: str, figure: Any) -> None:
    picture = BytesIO()
    figure.savefig(picture, dpi=130)
    try:
        atomic.write_text(folder / "score.json", text + "\n")
        atomic.write_bytes(folder / "score.png", picture.getvalue())
    except OSError as error:
        raise OutputError(f"{folder}: the score could not be written: {error.strerror or error}") from None


def _tables(data: dict[str, Any]) -> Iterable[Table]:
    fields, c = data["fields"], data["conditioning"]
    if data["error"] is not None:
        yield _error_table(data)
    traces = [(name, t) for name, f in fields.items() for t in f["boundary"]["traces"]]
    yield _table(
        "boundary residual",
        ["trace", "points", "RMS", "relative"],
        [(name, f"{t['segment']}, {t['of']}", t["points"], t["rms"], t["relative"]) for name, t in traces],
    )
    kept = [
        (name, key + " (declared)" * q["declared"], *(q[k] for k in ("start", "end", "drift", "relative_drift")))
        for name, f in fields.items()
        for key, q in f["invariants"].items()
    ]
    yield _table("invariants", ["", "start", "end", "largest change", "relative"], kept)
    closes = [
        (name, *(f["budget"]["closes"][k] for k in ("system", "equation"))) for name, f in fields.items() if f["budget"]
    ]
    yield _table("budget of ½∫u²", ["closes, system", "closes, equation"], closes)
    if (falls := data["lyapunov"]) is not None:
        yield _table("Lyapunov", ["change", "largest rise"], [("all fields", falls["change"], falls["largest_rise"])])
    keys = ("M", "kernel", "r", "quadrature_nodes", "N_norm")
    yield _table(
        "space",
        ["M", "kernel", "r", "nodes", "|N|", "stiffness", "tau_C", "tau_M"],
        [(n, *(s[k] for k in keys), c["stiffness"], c["tau_C"], c["tau_M"]) for n, s in c["spaces"].items()],
    )


def _error_table(data: dict[str, Any]) -> Table:
    scored = {name: f for name, f in data["fields"].items() if f["error"]}
    if len(scored) > 1:
        scored["all"] = {**data, "points": None, "against": None}
    rows: list[tuple[Any, ...]] = []
    for name, f in scored.items():
        on = f", {f['points']:,} points, {f['against']}" if f["points"] else ""
        rows.append((f"{name}{on}", *(f["error"][key] for key in ("final", "max", "mean"))))
        for key, label in _PART_NAMES.items():
            part = f["contributions"][key] or {"final": None, "max": None}
            rows.append((f"  {label}", part["final"], part["max"], ""))
    return _table("relative L² error", ["final", "max", "mean"], rows)


def _table(title: str, columns: list[str], rows: Iterable[tuple[Any, ...]]) -> Table:
    table = Table(show_header=True, header_style="bold", box=None, pad_edge=False)
    table.add_column(title, no_wrap=True)
    for column in columns:
        table.add_column(column, justify="left" if column in ("", "trace") else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(_shown(value) for value in row))
    return table


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.2e}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
