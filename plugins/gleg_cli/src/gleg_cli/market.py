"""Commands of the marketplace: finding, examining, checking, training and writing packs."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from gleg_core.pack import CONTRACT_HOOKS

_CONTRACTS = click.Choice(list(CONTRACT_HOOKS))


@click.command()
@click.argument("words", nargs=-1, metavar="WORD...")
@click.option("--contract", type=_CONTRACTS, help="Only components of this contract.")
@click.option("--catalogue", "catalogues", multiple=True, metavar="FILE_OR_URL", help="Search this catalogue as well.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
def search(words: tuple[str, ...], contract: str | None, catalogues: tuple[str, ...], as_json: bool) -> None:
    """Find mechanisms, domains, bases, … by name, keyword or summary, and how to install them. All WORDs must match."""
    from gleg_market.search import search as search_catalogue

    sys.exit(search_catalogue(words, contract, catalogues, as_json))


@click.command()
@click.argument("name", required=False)
@click.option("-v", "--verbose", is_flag=True, help="All details, as with NAME.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
def packs(name: str | None, verbose: bool, as_json: bool) -> None:
    """List installed packs, where they come from and what they offer; with NAME (pack or distribution) all about one."""
    from gleg_market.packs import list_packs

    list_packs(name, verbose, as_json)


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
@click.pass_context
def blocks(context: click.Context, as_json: bool) -> None:
    """List installed mechanisms: structure, order, degree, realisations, certified error of learned ones."""
    if context.invoked_subcommand is None:
        from gleg_learning.blocks_command import list_blocks

        list_blocks(as_json)


@blocks.command("show")
@click.argument("key")
@click.option(
    "--weights", metavar="STEM", help="Show the card of weights made by gleg train, instead of those installed."
)
@click.option(
    "--picture", type=click.Path(path_type=Path), metavar="FILE.png", help="Draw the card's errors and curves."
)
def show_block(key: str, weights: str | None, picture: Path | None) -> None:
    """Print what is known of the mechanism KEY: equation term, parameters, and the card if it is learned."""
    from gleg_learning.blocks_command import show

    show(key, weights, picture)


@click.command()
@click.argument("key")
@click.option("--recipe", type=click.Path(path_type=Path), help="Training recipe. Default: the one of the pack.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="STEM",
    help="Write STEM.safetensors, STEM.card.json. Default: ./NAME.",
)
@click.option("--fresh", is_flag=True, help="Start anew even if an interrupted training could be resumed.")
@click.option("--quiet", is_flag=True, help="Print errors only.")
def train(key: str, recipe: Path | None, out: Path | None, fresh: bool, quiet: bool) -> None:
    """Train the learned mechanism KEY. Ctrl-C keeps a checkpoint; the same command goes on from there."""
    from gleg_learning.train_command import train_block

    sys.exit(train_block(key, recipe, out, fresh, quiet))


@click.command()
@click.argument("names", metavar="[PACK|KEY]...", nargs=-1)
@click.option("--list", "listing", is_flag=True, help="List the checks of the kit and do nothing else.")
@click.option("-v", "--verbose", is_flag=True, help="Show every check with what it measured.")
@click.option(
    "--json", "to", type=click.Path(path_type=Path), help="Also write a machine-readable report to this file."
)
def check(names: tuple[str, ...], listing: bool, verbose: bool, to: Path | None) -> None:
    """Run the conformance kit on installed packs, or on single components such as diffusion:diffusion."""
    from gleg_conformance.check_command import check_packs, list_checks
    from gleg_core.registry import default_registry

    if listing:
        list_checks()
        return
    if not names:
        raise click.UsageError("name a pack or a component; gleg packs lists them")
    sys.exit(check_packs(names, default_registry(), verbose, to))


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
    from gleg_core.registry import default_registry
    from gleg_conformance.scaffold.write import NewPack, check_choice, write_pack

    pack = NewPack(name, contract, author or f"The authors of {name}", licence)
    check_choice(pack, default_registry())
    folder = write_pack(pack, out)
    click.echo(f"wrote {folder}: a working {contract} pack called '{name}'. Next:")
    click.echo(f"  cd {folder} && pip install -e '.[test]' && gleg check {name}")
    click.echo(f"  edit src/{pack.package}/, then pytest, then python -m build")


MARKET = (search, packs, blocks, train, check, new_pack)
