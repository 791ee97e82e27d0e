"""``gleg validate``, ``gleg resolve`` and ``gleg schema``. Torch is not imported."""

from pathlib import Path

import click

from gleg_cli.options import FILE, SET
from gleg_core.terminal import Terminal


@click.command()
@FILE
@SET
@click.pass_obj
def validate(terminal: Terminal, problem: Path, settings: tuple[str, ...]) -> None:
    """Check PROBLEM without solving it: keys, names, formulas, packs, domain, segments, probes, reference data."""
    checked = terminal.problem(problem, settings)
    from gleg_core.spec.geometry import assign_segments, check_geometry
    from gleg_results.reference import reference_note

    with checked.located():
        domain = checked.build(checked.domain)
        assign_segments(checked, domain)
        check_geometry(checked, domain)
    fields = ", ".join(f.name for f in checked.fields)
    click.echo(f"{problem}: valid. {domain.dim}D domain '{checked.domain.key}', fields {fields}.")
    if note := reference_note(checked, domain):
        click.echo(note)


@click.command()
@FILE
@SET
@click.pass_obj
def resolve(terminal: Terminal, problem: Path, settings: tuple[str, ...]) -> None:
    """Print PROBLEM with all defaults, full keys, and the versions and hashes of the packs it uses."""
    from gleg_results.resolved import resolved_yaml

    click.echo(resolved_yaml(terminal.problem(problem, settings)), nl=False)


@click.command()
def schema() -> None:
    """Print a JSON Schema of problem files, with the parameters of all installed packs, for editors."""
    import json

    from gleg_cli.schema import problem_schema
    from gleg_core.registry import default_registry

    click.echo(json.dumps(problem_schema(default_registry()), indent=1, ensure_ascii=False))
