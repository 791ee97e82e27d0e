"""``gleg lock``."""

from pathlib import Path

import click

from gleg_core.spec.problem import load_problem
from gleg_market.lock import lock_path, make_lock, write_lock


@click.command("lock")
@click.argument("problem", type=click.Path(path_type=Path))
def lock(problem: Path) -> None:
    """Write NAME.lock.json beside PROBLEM: versions and hashes of all it uses. gleg run then refuses other packs."""
    made = make_lock(load_problem(problem))
    write_lock(lock_path(problem), made)
    packs = ", ".join(f"{pack.distribution} {pack.version}" for pack in made.packs.values())
    click.echo(f"wrote {lock_path(problem)}: gleg-core {made.core.version}, {packs}")
