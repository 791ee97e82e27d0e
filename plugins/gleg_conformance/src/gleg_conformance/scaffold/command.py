"""``gleg new-pack``."""

from pathlib import Path

import click

from gleg_conformance.scaffold.write import NewPack, check_choice, write_pack
from gleg_core.registry import default_registry


@click.command("new-pack")
@click.argument("name")
@click.option(
    "--contract", default="block", show_default=True, help="block, basis, boundary, integrator, dictionary or domain."
)
@click.option("--licence", "--license", default="MIT", show_default=True, help="MIT, BSD-3-Clause or Apache-2.0.")
@click.option("--author", help="Name for the licence and the metadata.  [default: The authors of NAME]")
@click.option("--out", type=click.Path(path_type=Path), default=Path(), help="Folder to write it in.  [default: here]")
def new_pack(name: str, contract: str, licence: str, author: str | None, out: Path) -> None:
    """Write a complete distribution for a new pack: code, tests, conformance, card, continuous integration, licence."""
    pack = NewPack(name, contract, author or f"The authors of {name}", licence)
    check_choice(pack, default_registry())
    folder = write_pack(pack, out)
    click.echo(f"wrote {folder}: a working {contract} pack called '{name}'. Next:")
    click.echo(f"  cd {folder} && pip install -e '.[test]' && gleg check {name}")
    click.echo(f"  edit src/{pack.package}/, then pytest, then python -m build")
