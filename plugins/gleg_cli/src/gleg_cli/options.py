"""Arguments and options that several commands have."""

from pathlib import Path

import click

FILE = click.argument("problem", type=click.Path(path_type=Path))
SET = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Replace a value, e.g. constants.D=0.1 or fields.u.equation[0].coefficient=2. May be repeated.",
)
OUT = click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder for the results; an earlier run there is replaced. Default: NAME-run.",
)
