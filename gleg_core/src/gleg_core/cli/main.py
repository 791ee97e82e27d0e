"""``gleg``: commands and how their errors are shown."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from gleg_core import __version__
from gleg_core.errors import GlegError


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, "-V", "--version", prog_name="gleg")
def gleg() -> None:
    """Solve time-dependent PDEs on any domain from a short problem file."""


_FILE = click.argument("problem", type=click.Path(path_type=Path))
_SET = click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Replace a value, e.g. constants.D=0.1."
)


def _overrides(settings: tuple[str, ...]) -> dict[str, Any]:
    from gleg_core.spec.loading import Document, parse_setting, with_overrides

    document = Document({})
    for text in settings:
        document = with_overrides(document, parse_setting(text))
    return document.data


@gleg.command()
@_FILE
@_SET
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the results. Default: NAME-run.")
@click.option("--movie", is_flag=True, help="Also write an animation.")
@click.option("--quiet", is_flag=True, help="Print errors only.")
def run(problem: Path, settings: tuple[str, ...], out: Path | None, movie: bool, quiet: bool) -> None:
    """Solve PROBLEM and write one folder: fields, metrics, pictures, resolved spec. Ctrl-C keeps what was reached."""
    from gleg_core.cli.run import run_problem

    overrides = _overrides(settings)
    if movie:
        overrides.setdefault("output", {})["movie"] = True
    sys.exit(run_problem(problem, overrides, out, quiet))


@gleg.command()
@_FILE
@_SET
def validate(problem: Path, settings: tuple[str, ...]) -> None:
    """Check PROBLEM without solving it: keys, names, formulas, packs, domain, boundary segments."""
    from gleg_core.spec.problem import load_problem
    from gleg_core.spec.segments import assign_segments

    checked = load_problem(problem, _overrides(settings))
    domain = checked.build(checked.domain)
    assign_segments(checked, domain)
    fields = ", ".join(f.name for f in checked.fields)
    click.echo(f"{problem}: valid. {domain.dim}D domain '{checked.domain.key}', fields {fields}.")


@gleg.command()
@_FILE
@_SET
def resolve(problem: Path, settings: tuple[str, ...]) -> None:
    """Print PROBLEM with all defaults, full keys, and the versions and hashes of the packs it uses."""
    from gleg_core.spec.problem import load_problem
    from gleg_core.spec.resolve import resolved_yaml

    click.echo(resolved_yaml(load_problem(problem, _overrides(settings))), nl=False)


@gleg.command()
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
def packs(as_json: bool) -> None:
    """List installed packs and what they offer."""
    from gleg_core.cli.packs import list_packs

    list_packs(as_json)


@gleg.command()
def doctor() -> None:
    """Check this installation: packs, versions, threads, cache."""
    from gleg_core.cli.doctor import examine

    sys.exit(examine())


@gleg.command()
def schema() -> None:
    """Print a JSON Schema of problem files, with the parameters of all installed packs, for editors."""
    import json

    from gleg_core.registry import default_registry
    from gleg_core.spec.schema import problem_schema

    click.echo(json.dumps(problem_schema(default_registry()), indent=1, ensure_ascii=False))


@gleg.group()
def examples() -> None:
    """Problem files to start from."""


@examples.command("list")
def list_examples() -> None:
    """List the examples, with what one sees in each."""
    from gleg_core.cli.examples import catalogue

    for name, summary in catalogue():
        click.echo(f"{name:24s} {summary}")


@examples.command("copy")
@click.argument("name")
@click.argument("target", type=click.Path(path_type=Path), default=Path())
def copy_example(name: str, target: Path) -> None:
    """Copy example NAME to TARGET (a folder or a file; default: here)."""
    from gleg_core.cli.examples import copy

    click.echo(f"wrote {copy(name, target)}")


@examples.command("run")
@click.argument("name")
@_SET
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the results. Default: NAME-run.")
def run_example(name: str, settings: tuple[str, ...], out: Path | None) -> None:
    """Solve example NAME."""
    from gleg_core.cli.examples import path_of
    from gleg_core.cli.run import run_problem

    sys.exit(run_problem(path_of(name), _overrides(settings), out or Path(f"{name}-run"), quiet=False))


def main() -> None:
    """Entry point: a user's mistake gives its message and exit code, never a traceback."""
    try:
        gleg(standalone_mode=False)
    except GlegError as error:
        click.echo(str(error), err=True)
        sys.exit(error.exit_code)
    except click.Abort:
        click.echo("interrupted", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
    except Exception as error:
        if os.environ.get("GLEG_DEBUG"):
            raise
        click.echo(f"internal error, please report it: {type(error).__name__}: {error}", err=True)
        click.echo("GLEG_DEBUG=1 shows where it happened", err=True)
        sys.exit(70)
