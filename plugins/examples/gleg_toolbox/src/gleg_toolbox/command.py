"""``gleg mass``."""

from pathlib import Path

import click

from gleg_core.terminal import Terminal
from gleg_toolbox import integrals
from gleg_toolbox.notes import NotesKey


@click.command()
@click.argument("problem", type=click.Path(path_type=Path))
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Replace a value of PROBLEM.")
@click.pass_obj
def mass(terminal: Terminal, problem: Path, settings: tuple[str, ...]) -> None:
    """Print ∫u of every field of PROBLEM at the start, and what the file notes about itself."""
    loaded = terminal.problem(problem, settings)
    if (notes := loaded.keys(NotesKey).notes) is not None:
        click.echo(terminal.columns([("author", 8)], notes.author))
        click.echo(terminal.columns([("keywords", 8)], ", ".join(notes.keywords) or "none"))
    for name, value in integrals.mass(loaded).items():
        click.echo(terminal.columns([(name, 8)], f"{value:.6g}"))
