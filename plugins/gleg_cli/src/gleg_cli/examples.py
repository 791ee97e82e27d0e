"""Example problem files, shipped by the umbrella distribution ``gleg``."""

import importlib.util
import shutil
import sys
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import click

from gleg_cli.options import OUT, SET
from gleg_core.errors import OutputError, SpecError, did_you_mean, listing
from gleg_core.spec.loading import load_document
from gleg_core.terminal import Terminal


def folder() -> Path:
    """Where the examples are: the first of :func:`_places` that holds problem files."""
    for place in _places():
        if any(place.glob("*.yaml")):
            return place
    raise SpecError("the examples are not installed; they come with the distribution gleg:   pip install gleg")


def _places() -> Iterator[Path]:
    """The folder ``gleg_examples`` of the installed wheel, then ``examples`` of the checkout this file belongs to."""
    spec = importlib.util.find_spec("gleg_examples")
    yield from map(Path, (spec.submodule_search_locations or ()) if spec else ())
    for checkout in Path(__file__).parents[4:5]:
        if (checkout / "gleg_core" / "pyproject.toml").is_file():
            yield checkout / "examples"


def catalogue() -> list[tuple[str, str]]:
    """(name, what one sees): the name of the file and the comment that opens it."""
    found = []
    for path in sorted(folder().glob("*.yaml")):
        lines = path.read_text(encoding="utf-8").splitlines()
        comment = takewhile(lambda line: line.startswith("#"), lines)
        found.append((path.stem, " ".join(line.lstrip("# ").strip() for line in comment)))
    return found


def path_of(name: str) -> Path:
    """The file of an example."""
    path = folder() / f"{name}.yaml"
    if not path.exists():
        names = [n for n, _ in catalogue()]
        raise SpecError(f"there is no example '{name}'. Examples: {listing(names, 30)}.{did_you_mean(name, names)}")
    return path


def copy(name: str, target: Path) -> Path:
    """Copy an example, and the reference it names beside it; an existing file is never overwritten."""
    source = path_of(name)
    destination = target / source.name if target.is_dir() else target
    reference = load_document(source).data.get("reference")
    files = {source: destination}
    if reference is not None:
        files[source.parent / reference] = destination.parent / reference
    for place in files.values():
        if place.exists():
            raise OutputError(f"{place}: exists already; choose another name")
    try:
        for original, place in files.items():
            if place.parent != destination.parent:  # the folder of references; the target itself must exist
                place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(original, place)
    except OSError as error:
        raise OutputError(f"{destination}: cannot be written: {error.strerror}") from None
    return destination


@click.group()
def examples() -> None:
    """Problem files to start from."""


@examples.command("list")
@click.pass_obj
def list_examples(terminal: Terminal) -> None:
    """List the examples, with what one sees in each."""
    for name, summary in catalogue():
        click.echo(terminal.columns([(name, 24)], summary))


@examples.command("copy")
@click.argument("name")
@click.argument("target", type=click.Path(path_type=Path), default=Path())
def copy_example(name: str, target: Path) -> None:
    """Copy example NAME to TARGET (a folder or a file; default: here)."""
    click.echo(f"wrote {copy(name, target)}")


@examples.command("run")
@click.argument("name")
@SET
@OUT
@click.option("--quiet", is_flag=True, help="Print errors only.")
@click.pass_obj
def run_example(terminal: Terminal, name: str, settings: tuple[str, ...], out: Path | None, quiet: bool) -> None:
    """Solve example NAME."""
    checked = terminal.problem(path_of(name), settings)
    from gleg_cli.run import run_problem

    sys.exit(run_problem(checked, out or Path(f"{name}-run"), quiet))
