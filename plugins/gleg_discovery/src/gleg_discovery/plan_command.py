"""``gleg plan``: what a planned experiment will tell about a guessed law."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gleg_core.terminal import Terminal
from gleg_discovery.discover_command import plain_table, settings_option

if TYPE_CHECKING:
    from gleg_discovery.plan import Alternative, ExperimentPlan


@click.command()
@click.argument("problem", type=click.Path(path_type=Path))
@settings_option
@click.option(
    "--noise", required=True, metavar="SHARE", help="Noise of a reading relative to the RMS of its field: 1e-3, 0.1%."
)
@click.option("--target", metavar="SHARE", help="Relative standard error wanted for every coefficient: 5%.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
@click.pass_obj
def plan(
    terminal: Terminal, problem: Path, settings: tuple[str, ...], noise: str, target: str | None, as_json: bool
) -> None:
    """How well the experiment that PROBLEM plans will determine a guessed law, and what would reach the target: sensors,
    window, recordings. From the Fisher information, before anything is measured."""
    checked = terminal.problem(problem, settings)
    wanted = None if target is None else _share("target", target)
    share = _share("noise", noise)
    console = Console(quiet=as_json, highlight=False)
    with console.status("rolling the guessed law out"):
        from gleg_discovery.plan import plan as assess
        from gleg_results.replaced_folder import json_text

        found = assess(checked, share, wanted)
    if as_json:
        click.echo(json_text(asdict(found)))
    console.print(Text(_head(found)), soft_wrap=True)
    console.print(_table(found))
    if text := _advice(found):
        console.print(Text(text), soft_wrap=True)


def _share(name: str, text: str) -> float:
    """``5%`` or ``0.05``."""
    try:
        return float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        raise click.UsageError(f"--{name}: found '{text}', write a share such as 1e-3 or 5%") from None


def _head(found: "ExperimentPlan") -> str:
    rms = ", ".join(f"{found.noise * rms:.2g} for {name}" for name, rms in found.rms.items())
    return (
        f"{found.recordings} recordings of {found.sensors} sensors, {found.samples} readings in {found.window:g}, "
        f"noise {found.noise:g} of the RMS ({rms}):"
    )


def _table(found: "ExperimentPlan") -> Table:
    table = plain_table("candidate", "guess", "standard error", "relative")
    several = len({r.field for r in found.rows}) > 1
    for r in found.rows:
        relative = "" if r.relative is None else f"±{100 * r.relative:.2g} %"
        table.add_row(f"{r.field}: {r.label}" if several else r.label, f"{r.guess:g}", f"{r.error:.2g}", relative)
    return table


def _advice(found: "ExperimentPlan") -> str:
    if found.target is None:
        return ""
    wanted = f"±{100 * found.target:g} %"
    if not found.misses:
        return f"Every coefficient is determined to {wanted}."
    labels = ", ".join(r.label for r in found.misses)
    ways = [_way(a) for a in found.alternatives if a.reached]
    text = f"For {wanted} on {labels}: {', or '.join(ways)}." if ways else f"{wanted} on {labels} is out of reach."
    for a in found.alternatives:
        if not a.reached:
            text += f" {_way(a)[0].upper() + _way(a)[1:]} would leave ±{100 * a.worst:.2g} %."
    return text


def _way(a: "Alternative") -> str:
    return f"a window of {a.value:g}" if a.what == "window" else f"{a.value:,.0f} {a.what}"
