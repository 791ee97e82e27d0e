"""``gleg packs``. Torch, numpy and pydantic are not imported, and only what has weights or a certificate is hashed."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import click

from gleg_core.errors import PackError, did_you_mean, listing
from gleg_core.pack import CONTRACTS
from gleg_core.registry import Failure, Pack, Registry, default_registry
from gleg_core.registry.catalogue import canonical
from gleg_core.registry.fingerprint import files_hash
from gleg_core.terminal import Terminal
from gleg_market import certificates
from gleg_market.catalogue import offers_of
from gleg_market.weights import weights_hashes


@click.command()
@click.argument("name", required=False)
@click.option("-v", "--verbose", is_flag=True, help="All details, as with NAME.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
@click.pass_obj
def packs(terminal: Terminal, name: str | None, verbose: bool, as_json: bool) -> None:
    """List installed packs, where they come from and what they offer; with NAME (pack or distribution) all about one."""
    list_packs(terminal, name, verbose, as_json)


def list_packs(terminal: Terminal, name: str | None, verbose: bool, as_json: bool) -> None:
    """Installed packs with their components, then those that could not be used; ``name`` chooses one and tells all about it."""
    registry = default_registry()
    shown, failures = (registry.packs, registry.failures) if name is None else _named(registry, name)
    full = verbose or name is not None
    if as_json:
        data = {"packs": [_as_data(p, full) for p in shown], "failures": [asdict(f) for f in failures]}
        click.echo(json.dumps(data, indent=1, ensure_ascii=False))
        return
    for pack in shown:
        click.secho(pack.id, bold=True, nl=False)
        if full:
            click.echo()
            _detail(terminal, pack)
        else:
            click.echo(f"  {', '.join(_facts(pack))}")
            for offer in offers_of(pack):
                click.echo(terminal.columns([("", 1), (offer.contract, 10), (offer.name, 20)], offer.summary))
        if pack.said:
            click.secho(f"{pack} printed while it was imported: {pack.said}", fg="yellow", err=True)
    for failure in failures:
        click.secho(str(failure), fg="yellow", err=True)


def _named(registry: Registry, name: str) -> tuple[tuple[Pack, ...], tuple[Failure, ...]]:
    """The packs and failures with this pack id or distribution."""

    def chosen(pack: str, distribution: str) -> bool:
        return name == pack or canonical(name) == canonical(distribution)

    packs = tuple(p for p in registry.packs if chosen(p.id, p.distribution))
    failures = tuple(f for f in registry.failures if chosen(f.pack, f.distribution))
    if not packs and not failures:
        known = [p.id for p in registry.packs]
        offers = [o for o in registry.catalogue() if chosen(o.pack, o.distribution)]
        where = f" It is in {offers[0].distribution}:   pip install {offers[0].distribution}" if offers else ""
        raise PackError(
            f"no pack '{name}' is installed.{where or did_you_mean(name, known)}\n  Installed: {listing(known, 30)}"
        )
    return packs, failures


def _contract(pack: Pack) -> str:
    return ".".join(map(str, pack.contract))


def _conformance(pack: Pack) -> str:
    return str(certificates.load(pack) or "not checked")


def _facts(pack: Pack) -> Iterator[str]:
    """What the heading of a pack says."""
    count = sum(map(len, pack.entries.values()))
    yield f"{pack.distribution} {pack.version}"
    yield f"contract {_contract(pack)}"
    yield pack.licence or "no licence stated"
    yield f"by {pack.provider or '—'}"
    if count:
        yield f"{count} component{'s' * (count != 1)}"
    yield f"weights {' '.join(h[:12] for h in weights_hashes(pack).values()) or '—'}"
    yield _conformance(pack)


def _detail(terminal: Terminal, pack: Pack) -> None:
    """All about one pack."""
    weights = [f"{key} sha256 {digest}" for key, digest in weights_hashes(pack).items()]
    lines = [
        ("distribution", f"{pack.distribution} {pack.version}"),
        ("provider", pack.provider or "—"),
        ("licence", pack.licence or "none stated"),
        ("contract", _contract(pack)),
        ("checked", _conformance(pack)),
        ("entry module", pack.module),
        ("files", f"sha256 {files_hash(pack.module) or '—'}"),
        *[("weights", line) for line in weights or ["—"]],
    ]
    for label, text in lines:
        click.echo(terminal.columns([("", 1), (label, 12)], text))
    stated = {(c, e.name): e.capabilities.stated() for c, es in pack.entries.items() for e in es}  # type: ignore[union-attr]
    for offer in offers_of(pack):
        click.echo(terminal.columns([("", 1), (offer.contract, 12), (offer.name, 20)], offer.summary))
        if words := stated.get((offer.contract, offer.name)):
            click.echo(terminal.columns([("", 1), ("", 12), ("", 20)], _words(words)))


def _words(capabilities: Mapping[str, object]) -> str:
    """``order 2, modes weak pointwise``."""
    return ", ".join(
        f"{key} {' '.join(map(str, value)) if isinstance(value, list | tuple) else value}"
        for key, value in capabilities.items()
    )


def _as_data(pack: Pack, full: bool) -> dict[str, Any]:
    certificate = certificates.load(pack)
    tools: dict[str, dict[str, str]] = {}
    for offer in offers_of(pack):
        if offer.contract not in CONTRACTS:
            tools.setdefault(offer.contract, {})[offer.name] = offer.summary
    return {
        "id": pack.id,
        "distribution": pack.distribution,
        "version": pack.version,
        "provider": pack.provider or None,
        "contract": list(pack.contract),
        "licence": pack.licence,
        "module": pack.module,
        "sha256": files_hash(pack.module) if full else None,
        "weights": weights_hashes(pack),
        "conformance": vars(certificate) if certificate else None,
        "entries": {c: {e.name: e.summary for e in es} for c, es in pack.entries.items() if es},
        "capabilities": {
            c: {e.name: e.capabilities.stated() for e in es}  # type: ignore[union-attr]
            for c, es in pack.entries.items()
            if es
        },
        "tools": tools,
        "printed": pack.said or None,
    }
