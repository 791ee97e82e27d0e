"""``gleg``: commands and how their errors are shown."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from gleg_core import __version__
from gleg_core.errors import GlegError, OutputError

if TYPE_CHECKING:
    from gleg_core.spec.problem import Problem


_EPILOG = """Exit status: 0 done, 2 mistake in the problem file or on the command line, 3 pack missing or at fault, 4 geometry,
5 numbers (blow-up, unstable step), 6 results cannot be written, 70 internal error, 130 interrupted."""


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}, epilog=_EPILOG)
@click.version_option(__version__, "-V", "--version", prog_name="gleg")
def gleg() -> None:
    """Solve time-dependent PDEs on any domain from a short problem file."""


_FILE = click.argument("problem", type=click.Path(path_type=Path))
_SET = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Replace a value, e.g. constants.D=0.1 or fields.u.equation[0].coefficient=2. May be repeated.",
)
_OUT = click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder for the results; an earlier run there is replaced. Default: NAME-run.",
)


def _load(path: Path, settings: tuple[str, ...], **changes: Any) -> Problem:
    """The validated problem, after what was set on the command line."""
    from gleg_core.spec.loading import load_document
    from gleg_core.spec.overrides import with_settings
    from gleg_core.spec.problem import load_problem

    return load_problem(with_settings(load_document(path), settings), changes)


@gleg.command()
@_FILE
@_SET
@_OUT
@click.option("--movie", is_flag=True, help="Also write an animation.")
@click.option("--quiet", is_flag=True, help="Print errors only.")
def run(problem: Path, settings: tuple[str, ...], out: Path | None, movie: bool, quiet: bool) -> None:
    """Solve PROBLEM and write one folder: fields, metrics, pictures, resolved spec. Ctrl-C keeps what was reached."""
    changes = {"output": {"movie": True}} if movie else {}
    checked = _load(problem, settings, **changes)
    from gleg_core.cli.run import run_problem

    sys.exit(run_problem(checked, out or Path(f"{problem.stem}-run"), quiet))


@gleg.command()
@_FILE
@_SET
def validate(problem: Path, settings: tuple[str, ...]) -> None:
    """Check PROBLEM without solving it: keys, names, formulas, packs, domain, boundary segments, probes."""
    checked = _load(problem, settings)
    from gleg_core.spec.geometry import check_geometry
    from gleg_core.spec.segments import assign_segments

    with checked.located():
        domain = checked.build(checked.domain)
        assign_segments(checked, domain)
        check_geometry(checked, domain)
    fields = ", ".join(f.name for f in checked.fields)
    click.echo(f"{problem}: valid. {domain.dim}D domain '{checked.domain.key}', fields {fields}.")


@gleg.command()
@_FILE
@_SET
def resolve(problem: Path, settings: tuple[str, ...]) -> None:
    """Print PROBLEM with all defaults, full keys, and the versions and hashes of the packs it uses."""
    from gleg_core.spec.resolve import resolved_yaml

    click.echo(resolved_yaml(_load(problem, settings)), nl=False)


@gleg.command()
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
def packs(as_json: bool) -> None:
    """List installed packs and what they offer."""
    from gleg_core.cli.packs import list_packs

    list_packs(as_json)


@gleg.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
@click.pass_context
def blocks(context: click.Context, as_json: bool) -> None:
    """List installed mechanisms: structure, order, degree, realisations, certified error of learned ones."""
    if context.invoked_subcommand is None:
        from gleg_core.cli.blocks import list_blocks

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
    from gleg_core.cli.blocks import show

    show(key, weights, picture)


@gleg.command()
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
    from gleg_core.cli.train import train_block

    sys.exit(train_block(key, recipe, out, fresh, quiet))


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
    from gleg_core.cli.text import columns

    for name, summary in catalogue():
        click.echo(columns([(name, 24)], summary))


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
@_OUT
@click.option("--quiet", is_flag=True, help="Print errors only.")
def run_example(name: str, settings: tuple[str, ...], out: Path | None, quiet: bool) -> None:
    """Solve example NAME."""
    from gleg_core.cli.examples import path_of

    checked = _load(path_of(name), settings)
    from gleg_core.cli.run import run_problem

    sys.exit(run_problem(checked, out or Path(f"{name}-run"), quiet))


def main() -> None:
    """Entry point: a user's mistake gives its message and exit code, never a traceback."""
    try:
        gleg(standalone_mode=False)
    except GlegError as error:
        _end(str(error), error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        _end("interrupted; nothing was written", 130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except OSError as error:
        if os.environ.get("GLEG_DEBUG"):
            raise
        _end(f"{error.filename or 'the system reports'}: {error.strerror or error}", OutputError.exit_code)
    except Exception as error:
        if os.environ.get("GLEG_DEBUG"):
            raise
        text = f"internal error, please report it: {type(error).__name__}: {error}"
        _end(f"{text}\nGLEG_DEBUG=1 shows where it happened", 70)


def _end(message: str, code: int) -> NoReturn:
    click.echo(message, err=True)
    sys.exit(code)
