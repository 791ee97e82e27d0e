"""What the command line gives to the commands of packs, as click's context object (``@click.pass_obj``)."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from gleg_core.spec.loading import Document
    from gleg_core.spec.problem import Problem


class Listener(Protocol):
    """What a display of progress provides."""

    def stage(self, name: str, facts: str, seconds: float) -> None:
        """A stage is done."""

    def progress(self, t: float, end: float) -> None:
        """The rollout has reached ``t``."""


class Display(Listener, Protocol):
    """Stages as lines, and a progress bar on a terminal."""

    def close(self) -> None:
        """Remove the bar."""


class Terminal(Protocol):
    """Everyday work of a command; what goes wrong is raised as a GlegError, which the command line shows."""

    def document(self, path: Path, *, locked: bool = False, ignore_lock: bool = False) -> "Document":
        """A problem file as it is written, compared with its lock; warnings are printed."""

    def problem(self, source: "Path | Document", settings: Sequence[str] = (), **changes: Any) -> "Problem":
        """A validated problem, after what was set on the command line (``--set KEY=VALUE``) and ``changes`` of keys."""

    def display(self, console: Any, start: float = 0.0) -> Display:
        """Progress of a run that starts at this time, on a rich console."""

    def columns(self, cells: Sequence[tuple[str, int]], last: str) -> str:
        """Cells padded to their widths, then a text: wrapped under itself on a terminal, one line in a pipe."""
