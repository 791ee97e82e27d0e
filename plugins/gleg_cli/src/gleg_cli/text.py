"""Text for the terminal."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Sequence


def columns(cells: Sequence[tuple[str, int]], last: str) -> str:
    """Cells padded to their widths, then a text: wrapped under itself on a terminal, one line in a pipe."""
    head = " ".join(f"{text:{width}s}" for text, width in cells) + " "
    width = shutil.get_terminal_size().columns
    if not sys.stdout.isatty() or len(head) + 20 > width:
        return (head + last).rstrip()
    wrapped = textwrap.wrap(last, width - len(head), break_long_words=False, break_on_hyphens=False)
    return (head + f"\n{' ' * len(head)}".join(wrapped)).rstrip()
