"""``gleg packs``. Torch, numpy and pydantic are not imported, and only what has weights or a certificate is hashed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import click

from gleg_cli.text import columns
from gleg_core.errors import PackError, did_you_mean, listing
from gleg_core.pack import CONTRACT_HOOKS, Entry
from gleg_core.registry import Failure, Pack, Registry, default_registry
from gleg_market import certificates
from gleg_core.registry.fingerprint import files_hash, weights_hashes
from gleg_core.registry.installed import canonical

_SHORT = 12
"""Digits of a hash that are shown."""


def list_packs(name: str | None, verbose: bool, as_json: bool) -> None:
    """Installed packs with their components, then those that could not be used; ``name`` chooses one and tells all about it."""
    registry = default_registry()
    packs, failures = (registry.packs, registry.failures) if name is None else _named(registry, name)
    full = verbose or name is not None
    if as_json:
        data = {"packs": [_as_data(p, full) for p in packs], "failures": [_failure(f) for f in failures]}
        click.echo(json.dumps(data, indent=1, ensure_ascii=False, default=dict))
        return
    for pack in packs:
        click.secho(pack.id, bold=True, nl=False)
        if full:
            click.echo()
            _detail(pack)
        else:
            click.echo(f"  {', '.join(_facts(pack))}")
            for contract, entry in _entries(pack):
                click.echo(columns([("", 1), (contract, 10), (entry.name, 20)], entry.summary))
    for failure in failures:
        click.secho(str(failure), fg="yellow", err=True)


def _named(registry: Registry, name: str) -> tuple[tuple[Pack, ...], tuple[Failure, ...]]:
    """The packs and failures with this pack id or distribution."""

    def chosen(ids: tuple[str, str]) -> bool:
        return name == ids[0] or canonical(name) == canonical(ids[1])

    packs = tuple(p for p in registry.packs if chosen((p.id, p.distribution)))
    failures = tuple(f for f in registry.failures if chosen((f.pack, f.distribution)))
    if not packs and not failures:
        known = [p.id for p in registry.packs]
        offers = [o for o in registry.catalogue() if chosen((o.pack, o.distribution))]
        where = f" It is in {offers[0].distribution}:   pip install {offers[0].distribution}" if offers else ""
        raise PackError(
            f"no pack '{name}' is installed.{where or did_you_mean(name, known)}\n  Installed: {listing(known, 30)}"
        )
    return packs, failures


def _entries(pack: Pack) -> Iterator[tuple[str, Entry]]:
    return ((contract, entry) for contract in CONTRACT_HOOKS for entry in pack.entries.get(contract, ()))


def _contract(pack: Pack) -> str:
    return ".".join(map(str, pack.contract))


def _conformance(pack: Pack) -> str:
    return str(certificates.load(pack) or "not checked")


def _facts(pack: Pack) -> Iterator[str]:
    """What the heading of a pack says."""
    count = sum(1 for _ in _entries(pack))
    yield f"{pack.distribution} {pack.version}"
    yield f"contract {_contract(pack)}"
    yield pack.licence or "no licence stated"
    yield f"by {pack.provider or '—'}"
    yield f"{count} component{'s' * (count != 1)}"
    yield f"weights {' '.join(h[:_SHORT] for h in weights_hashes(pack).values()) or '—'}"
    yield _conformance(pack)


def _detail(pack: Pack) -> None:
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
        click.echo(columns([("", 1), (label, 12)], text))
    for contract, entry in _entries(pack):
        click.echo(columns([("", 1), (contract, 12), (entry.name, 20)], entry.summary))
        if entry.capabilities:
            click.echo(columns([("", 1), ("", 12), ("", 20)], _words(entry.capabilities)))


def _words(capabilities: Mapping[str, object]) -> str:
    """``order 2, modes weak pointwise``."""
    return ", ".join(
        f"{key} {' '.join(map(str, value)) if isinstance(value, list | tuple) else value}"
        for key, value in capabilities.items()
    )


def _as_data(pack: Pack, full: bool) -> dict[str, Any]:
    certificate = certificates.load(pack)
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
        "capabilities": {c: {e.name: e.capabilities for e in es} for c, es in pack.entries.items() if es},
    }


def _failure(f: Failure) -> dict[str, str]:
    return {"pack": f.pack, "distribution": f.distribution, "version": f.version, "stage": f.stage,
            "message": f.message, "remedy": f.remedy}  # fmt: skip
