"""``gleg lock``, and the lock's part in ``gleg run``."""

from __future__ import annotations

from pathlib import Path

import click

from gleg_core.spec.loading import Document, load_document
from gleg_market.lock import check_lock, lock_path, make_lock, write_lock
from gleg_core.spec.problem import load_problem


def lock_problem(path: Path) -> None:
    """Write the lock of a problem file beside it."""
    document = load_document(path)
    lock = make_lock(load_problem(document), document)
    write_lock(lock_path(path), lock)
    packs = ", ".join(f"{pack.distribution} {pack.version}" for pack in lock.packs.values())
    click.echo(f"wrote {lock_path(path)}: gleg-core {lock.core.version}, {packs}")


def warn_of_lock(document: Document, required: bool) -> None:
    """Refuse to run with other packs than those locked; print what is only worth a warning."""
    for text in check_lock(document, required=required, refuse=True):
        click.echo(f"warning: {text}", err=True)
