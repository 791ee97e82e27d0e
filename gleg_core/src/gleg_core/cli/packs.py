"""``gleg packs``."""

from __future__ import annotations

import json
from typing import Any

import click

from gleg_core.cli.text import columns
from gleg_core.pack import CONTRACT_HOOKS
from gleg_core.registry import Registry, default_registry


def list_packs(as_json: bool) -> None:
    """Installed packs with their components, then the packs that could not be used."""
    registry = default_registry()
    if as_json:
        click.echo(json.dumps(_as_data(registry), indent=1, ensure_ascii=False))
        return
    for pack in registry.packs:
        version = ".".join(map(str, pack.contract))
        click.secho(pack.id, bold=True, nl=False)
        click.echo(f"  {pack.distribution} {pack.version}, contract {version}, {pack.licence or 'no licence stated'}")
        for contract in CONTRACT_HOOKS:
            for entry in pack.entries.get(contract, ()):
                click.echo(columns([("", 1), (contract, 10), (entry.name, 20)], entry.summary))
    for failure in registry.failures:
        click.secho(str(failure), fg="yellow", err=True)


def _as_data(registry: Registry) -> dict[str, Any]:
    return {
        "packs": [
            {
                "id": p.id,
                "distribution": p.distribution,
                "version": p.version,
                "contract": list(p.contract),
                "licence": p.licence,
                "entries": {c: {e.name: e.summary for e in es} for c, es in p.entries.items() if es},
            }
            for p in registry.packs
        ],
        "failures": [
            {"pack": f.pack, "distribution": f.distribution, "version": f.version, "stage": f.stage,
             "message": f.message, "remedy": f.remedy}
            for f in registry.failures
        ],
    }  # fmt: skip
