"""``gleg search``: components in the catalogue and in installed packs, the closest first."""

import difflib
import json
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict

import click

from gleg_core.pack import TABLE
from gleg_core.registry import Registry, default_registry
from gleg_core.registry.catalogue import Offer, canonical
from gleg_core.terminal import Terminal
from gleg_market.catalogue import merged, offers_of, read_catalogue


@click.command()
@click.argument("words", nargs=-1, metavar="WORD...")
@click.option("--contract", type=click.Choice([row.name for row in TABLE]), help="Only components of this contract.")
@click.option("--catalogue", "catalogues", multiple=True, metavar="FILE_OR_URL", help="Search this catalogue as well.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
@click.pass_obj
def search(
    terminal: Terminal, words: tuple[str, ...], contract: str | None, catalogues: tuple[str, ...], as_json: bool
) -> None:
    """Find mechanisms, domains, bases, … by name, keyword or summary, and how to install them. All WORDs must match."""
    sys.exit(search_catalogues(terminal, words, contract, catalogues, as_json))


def search_catalogues(
    terminal: Terminal, words: Sequence[str], contract: str | None, catalogues: Sequence[str], as_json: bool
) -> int:
    """Print what matches all words; the exit code is 1 if nothing does."""
    registry = default_registry()
    installed = (offer for pack in registry.packs for offer in offers_of(pack))
    offers = [o for o in merged([*read_catalogue(*catalogues), *installed]) if contract in (None, o.contract)]
    hits = find(offers, words)
    if as_json:
        data = [asdict(o) | {"installed": registry.versions.get(canonical(o.distribution))} for o in hits]
        click.echo(json.dumps(data, indent=1, ensure_ascii=False))
    elif hits:
        width = max(len(o.key) for o in hits)
        for o in hits:
            click.echo(terminal.columns([(o.key, width), (o.contract, 10)], o.summary))
            click.echo(terminal.columns([("", width), ("", 10)], f"{o.distribution}, {o.licence}, {_how(o, registry)}"))
    else:
        click.echo(_nothing(offers, words, contract), err=True)
    return 0 if hits else 1


def find(offers: Iterable[Offer], words: Sequence[str]) -> list[Offer]:
    """Offers that match every word, by how well they do: name, part of the name, keyword, then summary or distribution."""
    ranked = []
    for offer in offers:
        ranks = [_rank(offer, _plain(word)) for word in words]
        if None not in ranks:
            ranked.append((sum(r for r in ranks if r), offer.key, offer.distribution, offer))
    return [entry[-1] for entry in sorted(ranked, key=lambda entry: entry[:-1])]


def _rank(offer: Offer, word: str) -> int | None:
    """Where a word is found, the smaller the better; None if nowhere."""
    matches = (
        word in (offer.key, offer.name),
        word in offer.key,
        any(word in _plain(keyword) for keyword in offer.keywords),
        any(word in _plain(text) for text in (offer.summary, offer.distribution)),
    )
    return matches.index(True) if any(matches) else None


def _plain(text: str) -> str:
    """Lower case, and Gray–Scott with a hyphen."""
    return text.casefold().replace("–", "-")


def _how(offer: Offer, registry: Registry) -> str:
    """``installed 0.1.0``, or the command that installs it."""
    version = registry.versions.get(canonical(offer.distribution))
    if version is None:
        return f"pip install {offer.distribution}"
    loaded = {canonical(p.distribution) for p in registry.packs}
    return f"installed {version}" + ("" if canonical(offer.distribution) in loaded else ", but refused: see gleg packs")


def _nothing(offers: Iterable[Offer], words: Sequence[str], contract: str | None) -> str:
    """Which words nothing matches, and the nearest ones that something does."""
    texts = [_plain(" ".join([o.key, o.name, *o.keywords, o.summary])) for o in offers]
    vocabulary = {word for text in texts for word in re.findall(r"[\w-]{3,}", text)}
    kind = f"no {contract}" if contract else "nothing"
    lines = [f"{kind} in the catalogue matches {' '.join(words)}."]
    for word in words:
        if any(_plain(word) in text for text in texts):
            continue
        near = difflib.get_close_matches(_plain(word), vocabulary, n=3, cutoff=0.6)
        lines.append(f"  Nearest to '{word}': {', '.join(near)}" if near else f"  Nothing is close to '{word}'.")
    return "\n".join(lines)
