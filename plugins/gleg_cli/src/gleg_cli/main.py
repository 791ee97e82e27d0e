"""``gleg``: commands and how their errors are shown."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from gleg_core import __version__
from gleg_cli.market import MARKET
from gleg_core.errors import GlegError, OutputError, PackError

if TYPE_CHECKING:
    from gleg_core.spec.loading import Document
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


def _load(
    path: Path, settings: tuple[str, ...], check: Callable[[Document], None] | None = None, **changes: Any
) -> Problem:
    """The validated problem, after what was set on the command line. ``check`` sees the file before its names are looked up."""
    from gleg_core.spec.loading import load_document
    from gleg_core.spec.overrides import with_settings
    from gleg_core.spec.problem import load_problem

    document = load_document(path)
    if check is not None:
        check(document)
    try:
        return load_problem(with_settings(document, settings), changes)
    except PackError as error:
        from gleg_market.lock import missing_packs

        raise PackError(f"{error}{missing_packs(path)}") from error


@gleg.command()
@_FILE
@_SET
@_OUT
@click.option("--movie", is_flag=True, help="Also write an animation.")
@click.option("--quiet", is_flag=True, help="Print errors only.")
@click.option("--locked", is_flag=True, help="Refuse to run without a lock (gleg lock) beside PROBLEM.")
@click.option("--ignore-lock", is_flag=True, help="Run even if the packs are not those of the lock.")
def run(
    problem: Path,
    settings: tuple[str, ...],
    out: Path | None,
    movie: bool,
    quiet: bool,
    locked: bool,
    ignore_lock: bool,
) -> None:
    """Solve PROBLEM and write one folder: fields, metrics, pictures, resolved spec. Ctrl-C keeps what was reached."""
    if locked and ignore_lock:
        raise click.UsageError("--locked and --ignore-lock exclude each other")
    from gleg_market.lock_command import warn_of_lock

    compare = None if ignore_lock else partial(warn_of_lock, required=locked)
    checked = _load(problem, settings, compare, **({"output": {"movie": True}} if movie else {}))
    from gleg_cli.run import run_problem

    sys.exit(run_problem(checked, out or Path(f"{problem.stem}-run"), quiet))


@gleg.command()
@_FILE
@click.option(
    "--vary",
    "varied",
    multiple=True,
    required=True,
    metavar="KEY=VALUES",
    help="A key as for --set, and its values: 10,14,18  0.2:2:25 (start:stop:count)  logspace(-3,-1,40)  linspace(0,1,5)  "
    "range(10,24,4). Several --vary: all combinations.",
)
@_SET
@click.option("--zip", "zipped", is_flag=True, help="Walk the varied keys together instead of all combinations.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the results. Default: NAME-sweep.")
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Processes at a time. Default: one per core.")
@click.option(
    "--engine", type=click.Choice(["local", "batch", "dask"]), default="local", show_default=True, help="Who solves."
)
@click.option("--scheduler", metavar="ADDRESS", help="Dask scheduler, e.g. tcp://host:8786. Default: a cluster here.")
@click.option("--keep-runs", is_flag=True, help="Also write a folder for every case, as gleg run does, to OUT/runs.")
@click.option("--fresh", is_flag=True, help="Run every case again. Default: only those that are missing in OUT/cases.")
@click.option("--quiet", is_flag=True, help="Print errors only.")
@click.option("--ignore-lock", is_flag=True, help="Run even if the packs are not those of the lock.")
def sweep(
    problem: Path,
    varied: tuple[str, ...],
    settings: tuple[str, ...],
    out: Path | None,
    ignore_lock: bool,
    **options: Any,
) -> None:
    """Solve PROBLEM for many values of some of its keys; one table, one dataset, one picture. Goes on after a kill."""
    from gleg_market.lock_command import warn_of_lock
    from gleg_sweeps.command import sweep_problem
    from gleg_core.spec.loading import load_document

    if options["scheduler"] and options["engine"] != "dask":
        raise click.UsageError("--scheduler belongs to --engine dask")
    document = load_document(problem)
    if not ignore_lock:
        warn_of_lock(document, required=False)
    sys.exit(sweep_problem(document, settings, varied, out or Path(f"{problem.stem}-sweep"), **options))


@gleg.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--points", type=click.IntRange(100, 1_000_000), metavar="N", help="Independent points.  [default: 10000]"
)
@click.option("--no-time-error", is_flag=True, help="Do not repeat the rollout with finer steps.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
def score(run: Path, points: int | None, no_time_error: bool, as_json: bool) -> None:
    """Score RUN, a folder written by gleg run (or a problem file, which is run first): error on independent points and where it
    comes from, boundary residuals, balances. Writes score.json and score.png into the folder."""
    from gleg_market.lock_command import warn_of_lock

    problem = None if run.is_dir() else _load(run, (), partial(warn_of_lock, required=False))
    from gleg_cli.score import score_run

    sys.exit(score_run(run, problem, points, not no_time_error, as_json))


@gleg.command()
@_FILE
@click.argument("observations", type=click.Path(path_type=Path))
@_SET
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the results. Default: NAME-law.")
@click.option("--refine", is_flag=True, help="Refine the law by maximum likelihood through its rollout.")
@click.option("--baselines", is_flag=True, help="Also what other methods find: ambient Fourier, finite differences, …")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
@click.option("--quiet", is_flag=True, help="Print errors and warnings only.")
def discover(problem: Path, observations: Path, settings: tuple[str, ...], out: Path | None, **options: bool) -> None:
    """Find the law of PROBLEM's fields among their candidates from OBSERVATIONS (.nc, .csv or .parquet): coefficients with
    uncertainties, evidence, and a problem file of the law that gleg run rolls out."""
    checked = _load(problem, settings)
    from gleg_discovery.discover_command import discover_law

    sys.exit(discover_law(checked, observations, out or Path(f"{problem.stem}-law"), **options))


@gleg.command()
@_FILE
@_SET
@click.option(
    "--noise", required=True, metavar="SHARE", help="Noise of a reading relative to the RMS of its field: 1e-3, 0.1%."
)
@click.option("--target", metavar="SHARE", help="Relative standard error wanted for every coefficient: 5%.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
def plan(problem: Path, settings: tuple[str, ...], noise: str, target: str | None, as_json: bool) -> None:
    """How well the experiment that PROBLEM plans will determine a guessed law, and what would reach the target: sensors,
    window, recordings. From the Fisher information, before anything is measured."""
    checked = _load(problem, settings)
    from gleg_discovery.plan_command import plan_experiment

    sys.exit(
        plan_experiment(checked, _share("noise", noise), None if target is None else _share("target", target), as_json)
    )


def _share(name: str, text: str) -> float:
    """``5%`` or ``0.05``."""
    try:
        return float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        raise click.UsageError(f"--{name}: found '{text}', write a share such as 1e-3 or 5%") from None


@gleg.command()
@_FILE
@_SET
def validate(problem: Path, settings: tuple[str, ...]) -> None:
    """Check PROBLEM without solving it: keys, names, formulas, packs, domain, segments, probes, reference data."""
    checked = _load(problem, settings)
    from gleg_core.spec.geometry import check_geometry
    from gleg_results.reference import reference_note
    from gleg_core.spec.segments import assign_segments

    with checked.located():
        domain = checked.build(checked.domain)
        assign_segments(checked, domain)
        check_geometry(checked, domain)
    fields = ", ".join(f.name for f in checked.fields)
    click.echo(f"{problem}: valid. {domain.dim}D domain '{checked.domain.key}', fields {fields}.")
    if note := reference_note(checked, domain):
        click.echo(note)


@gleg.command()
@_FILE
@_SET
def resolve(problem: Path, settings: tuple[str, ...]) -> None:
    """Print PROBLEM with all defaults, full keys, and the versions and hashes of the packs it uses."""
    from gleg_core.spec.resolve import resolved_yaml

    click.echo(resolved_yaml(_load(problem, settings)), nl=False)


@gleg.command()
@_FILE
def lock(problem: Path) -> None:
    """Write NAME.lock.json beside PROBLEM: versions and hashes of all it uses. gleg run then refuses other packs."""
    from gleg_market.lock_command import lock_problem

    lock_problem(problem)


@gleg.command()
def doctor() -> None:
    """Check this installation: packs, versions, threads, cache."""
    from gleg_cli.doctor import examine

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
    from gleg_cli.examples import catalogue
    from gleg_cli.text import columns

    for name, summary in catalogue():
        click.echo(columns([(name, 24)], summary))


@examples.command("copy")
@click.argument("name")
@click.argument("target", type=click.Path(path_type=Path), default=Path())
def copy_example(name: str, target: Path) -> None:
    """Copy example NAME to TARGET (a folder or a file; default: here)."""
    from gleg_cli.examples import copy

    click.echo(f"wrote {copy(name, target)}")


@examples.command("run")
@click.argument("name")
@_SET
@_OUT
@click.option("--quiet", is_flag=True, help="Print errors only.")
def run_example(name: str, settings: tuple[str, ...], out: Path | None, quiet: bool) -> None:
    """Solve example NAME."""
    from gleg_cli.examples import path_of

    checked = _load(path_of(name), settings)
    from gleg_cli.run import run_problem

    sys.exit(run_problem(checked, out or Path(f"{name}-run"), quiet))


for command in MARKET:
    gleg.add_command(command)


def main() -> None:
    """Entry point: a user's mistake gives its message and exit code, never a traceback."""
    _start_quickly()
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


def _start_quickly() -> None:
    """Spare a command what costs more than many of them do themselves."""
    # Nearly all objects are those of imported modules and stay to the end. Searching them for garbage again and again, and once more at
    # the end, takes a fifth of the time that importing torch takes.
    gc.set_threshold(10_000)
    atexit.register(gc.freeze)
    # Pydantic would look for plugins of its own in the metadata of everything that is installed.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


def _end(message: str, code: int) -> NoReturn:
    click.echo(message, err=True)
    sys.exit(code)
