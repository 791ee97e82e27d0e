"""What commands are given: problem files read and checked, progress, columns of text."""

import shutil
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gleg_core.errors import PackError

if TYPE_CHECKING:
    from rich.console import Console

    from gleg_cli.display import ProgressDisplay
    from gleg_core.spec.loading import Document
    from gleg_core.spec.problem import Problem


class CommandTerminal:
    """The :class:`gleg_core.terminal.Terminal` of this command line."""

    def document(self, path: Path, *, locked: bool = False, ignore_lock: bool = False) -> "Document":
        from gleg_core.spec.guard import check_document
        from gleg_core.spec.loading import load_document

        document = load_document(path)
        if not ignore_lock:
            for text in check_document(document, required=locked, refuse=True):
                click.echo(f"warning: {text}", err=True)
        return document

    def problem(self, source: "Path | Document", settings: Sequence[str] = (), **changes: Any) -> "Problem":
        from gleg_core.registry import default_registry
        from gleg_core.spec.loading import load_document
        from gleg_core.spec.problem import load_problem
        from gleg_results.settings import with_settings

        document = load_document(source) if isinstance(source, Path) else source
        try:
            problem = load_problem(with_settings(document, settings), changes)
        except PackError as error:
            registry = default_registry()
            guards = (registry.target(o) for o in registry.own_tools("gleg_guards"))
            raise PackError(str(error) + "".join(guard.absent(document) for guard in guards)) from error
        for note in problem.notes:
            click.echo(f"note: {note}", err=True)
        return problem

    def display(self, console: "Console", start: float = 0.0) -> "ProgressDisplay":
        from gleg_cli.display import ProgressDisplay

        return ProgressDisplay(console, start)

    def columns(self, cells: Sequence[tuple[str, int]], last: str) -> str:
        head = " ".join(f"{text:{width}s}" for text, width in cells) + " "
        width = shutil.get_terminal_size().columns
        if not sys.stdout.isatty() or len(head) + 20 > width:
            return (head + last).rstrip()
        wrapped = textwrap.wrap(last, width - len(head), break_long_words=False, break_on_hyphens=False)
        return (head + f"\n{' ' * len(head)}".join(wrapped)).rstrip()
