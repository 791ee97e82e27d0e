"""``gleg verify``: a second opinion by another discretisation."""

import json
import sys
from io import BytesIO
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gleg_cli.display import ProgressDisplay
from gleg_cli.options import FILE, OUT, SET
from gleg_core import atomic
from gleg_core.errors import NumericsError
from gleg_core.terminal import Terminal


@click.command()
@FILE
@SET
@OUT
@click.option("--within", type=click.FloatRange(0, min_open=True), default=1e-2, show_default=True,
              help="Difference above which the exit status is 5.")  # fmt: skip
@click.pass_obj
def verify(terminal: Terminal, problem: Path, settings: tuple[str, ...], out: Path | None, within: float) -> None:
    """Solve PROBLEM a second time, on functions of another kind and with finer steps, and say how far the two differ and which to
    believe. Writes verify.json and difference.png into one folder."""
    checked = terminal.problem(terminal.document(problem), settings)
    folder = out or Path(f"{problem.stem}-verify")
    console = Console(highlight=False)
    from gleg_results.second_opinion import label, picture, second_opinion

    display = ProgressDisplay(console, checked.section.time.start)
    try:
        opinion = second_opinion(checked, display)
    finally:
        display.close()
    table = Table(show_header=True, header_style="bold", box=None, pad_edge=False)
    for title in ("field", "difference", "at t", "near"):
        table.add_column(title, no_wrap=True)
    for d in opinion.differences:
        near = ", ".join(f"{c:.3g}" for c in d.place)
        table.add_row(d.field, f"{d.relative:.1e}", f"{d.moment:.4g}", f"({near})")
    console.print(table)
    for run in opinion.runs:
        console.print(Text(f"{label(run)}: estimate {run.estimate or 'unknown'}"), soft_wrap=True)
    console.print(Text(f"verdict  {opinion.verdict}"), soft_wrap=True)
    image = BytesIO()
    picture(opinion).savefig(image, dpi=140)
    atomic.write_text(folder / "verify.json", json.dumps(opinion.as_data(), indent=1) + "\n")
    atomic.write_bytes(folder / "difference.png", image.getvalue())
    console.print(Text(f"wrote    {folder}/: difference.png  verify.json"), soft_wrap=True)
    if opinion.largest > within:
        raise NumericsError(
            f"{checked.document.name}: the two differ by {opinion.largest:.1g}, more than {within:g}: {opinion.verdict}"
        )
    sys.exit(0)
