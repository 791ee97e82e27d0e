"""``gleg blocks`` and ``gleg blocks show``. Torch is not imported unless a picture is asked for."""

import json
import textwrap
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gleg_core.errors import OutputError, PackError, SpecError
from gleg_core.registry import default_registry
from gleg_core.registry.records import one_line
from gleg_core.weights.card import Card
from gleg_learning.describe import Description, describe, describe_blocks, parameters, stem_of


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
@click.pass_context
def blocks(context: click.Context, as_json: bool) -> None:
    """List installed mechanisms: structure, order, degree, realisations, certified error of learned ones."""
    if context.invoked_subcommand is None:
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
    show(key, weights, picture)


def list_blocks(as_json: bool) -> None:
    """A table of the installed blocks, then what is wrong with their cards."""
    found = describe_blocks(default_registry())
    if as_json:
        click.echo(json.dumps([d.as_data() for d in found], indent=1, ensure_ascii=False))
        return
    Console(highlight=False).print(_table(found))
    for d in found:
        if d.trouble:
            click.secho(d.trouble, fg="yellow", err=True)


def _table(found: Sequence[Description]) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
    table.add_column("block", overflow="fold", min_width=29)  # the widths make 80
    table.add_column("structure", width=9)
    table.add_column("order", justify="right", width=5)
    table.add_column("degree", justify="right", width=6)
    table.add_column("modes", width=9)
    table.add_column("learned", width=7)
    table.add_column("certified for", width=9)
    for d in found:
        stated = d.capabilities
        facts = [stated.structure or None, stated.order, stated.degree, " ".join(stated.modes) or None]
        certified = _range(d.card, "\n") if d.card else ""
        table.add_row(*map(Text, (d.component.key, *map(_cell, facts), _learned(d), certified)))
    return table


def _cell(value: object) -> str:
    return "–" if value is None else str(value)


def _learned(d: Description) -> str:
    if d.card is not None:
        return f"{d.card.held_out:.1e}"
    return "broken" if d.trouble else "by user" if d.learned else "no"


def _range(card: Card, between: str) -> str:
    return f"|u| ≤ {card.amplitude:.4g}{between}|k| ≤ {card.wavenumber:.4g}"


def show(key: str, weights: str | None, picture: Path | None) -> None:
    """Everything about one block as text, and the picture of its card."""
    registry = default_registry()
    component = registry.find("block", key)
    d = describe(component, None if weights is None else stem_of(weights))
    if weights is not None and not d.learned:
        raise SpecError(f"the block '{component.key}' is not learned: it has no weights")
    if d.trouble:
        raise PackError(d.trouble)
    if d.card is not None and d.card.block != component.key:
        raise SpecError(f"the weights {weights} are those of the block '{d.card.block}', not of '{component.key}'")
    if picture is not None and d.card is None:
        raise SpecError(f"the block '{component.key}' has no card to draw; weights of your own: --weights STEM")
    _say_entry(d)
    try:
        rows = parameters(registry.params(component))
    except PackError:
        raise
    except Exception as error:
        rows = []
        click.secho(f"its parameters cannot be described: {one_line(error)}", fg="yellow", err=True)
    if rows:
        click.echo("\nparameters")
    for name, kind, meaning in rows:
        _fact(name, f"{kind}; {meaning}" if meaning else kind)
    if d.card is not None:
        _say_card(d.card)
    elif d.learned:
        click.echo(f"\nlearned from data of your own:   gleg train {component.key} --recipe FILE")
    if picture is not None:
        assert d.weights is not None
        _draw(component.key, d.weights, picture)


def _fact(label: str, text: str) -> None:
    """A label and a text wrapped under itself."""
    head = f"  {label:15s} "
    lines = textwrap.wrap(text, 80 - len(head), break_long_words=False, break_on_hyphens=False) or [""]
    click.echo(head + f"\n{' ' * len(head)}".join(lines))


def _say_entry(d: Description) -> None:
    entry, pack = d.component.entry, d.component.pack
    click.secho(d.component.key, bold=True)
    _fact("term", f"u_t = … + coefficient · [{entry.summary}] + …")
    _fact("pack", f"{pack.distribution} {pack.version}, {pack.licence or 'no licence stated'}")
    for name, value in d.capabilities.stated().items():
        if name not in ("learned", "weights"):
            _fact(name, ", ".join(map(str, value)) if isinstance(value, list) else _cell(value))


def _say_card(card: Card) -> None:
    click.echo("\ncard")
    recipe = card.recipe
    optimiser, law = recipe.get("optimiser", {}), recipe.get("states", {})
    _fact("trained on", f"{card.target}, {card.samples:,} residuals")
    if card.target == "reference":
        box = f"[−1, 1]^{law.get('dim')}"
        _fact("states", f"{law.get('count')} on {box}, basis {law.get('basis')}, decay {law.get('decay')}")
    _fact("optimiser", f"{optimiser.get('kind')}, seed {recipe.get('seed')}")
    _fact("held-out error", f"{card.held_out:.2e}")
    _fact("certified for", f"{_range(card, ', ')} on the box [−1, 1]^d")
    _fact("parameters", ", ".join(f"{name} {'×'.join(map(str, shape))}" for name, shape in card.shapes.items()))
    _fact("weights", f"{card.size} bytes, {card.licence}, sha256 {card.sha256}")
    _fact("made with", ", ".join(f"{name} {version}" for name, version in card.versions.items()))
    for title, bins in (("error by max|u|", card.by_amplitude), ("error by |k|", card.by_wavenumber)):
        if bins:
            click.echo(f"\n{title}")
        for b in bins:
            click.echo(f"  {b.low:>10.4g} … {b.high:<10.4g} {b.error:.2e}")


def _draw(key: str, weights: str, path: Path) -> None:
    from gleg_learning.blocks import with_weights
    from gleg_learning.picture import card_picture

    block, card = with_weights(default_registry(), key, weights)
    try:
        card_picture(card, block.card_curves()).savefig(path, dpi=150)
    except (OSError, ValueError) as error:
        raise OutputError(f"{path}: cannot be written: {error}") from None
    click.echo(f"\nwrote {path}")
