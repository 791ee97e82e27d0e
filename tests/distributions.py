"""The distributions of this repository, read from their folders: what the packaging and repository tests go through."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def canonical(name: str) -> str:
    """Distribution names compare without case and with ``-`` for ``_`` and ``.``."""
    return re.sub(r"[-_.]+", "-", name).lower()


def requirement_name(requirement: str) -> str:
    """``torch>=2.3`` → ``torch``."""
    return canonical(re.split(r"[\s\[<>=!~;]", requirement, maxsplit=1)[0])


@dataclass(frozen=True)
class Source:
    """A distribution in its source folder."""

    folder: Path

    @cached_property
    def project(self) -> dict[str, Any]:
        return tomllib.loads((self.folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    @property
    def name(self) -> str:
        return self.project["name"]

    @property
    def package(self) -> str:
        return self.name.replace("-", "_")

    @property
    def packs(self) -> dict[str, str]:
        return self.project.get("entry-points", {}).get("gleg.packs", {})

    @property
    def dependencies(self) -> set[str]:
        return {requirement_name(text) for text in self.project["dependencies"]}

    @property
    def extras(self) -> set[str]:
        groups = self.project.get("optional-dependencies", {}).values()
        return {requirement_name(text) for group in groups for text in group}

    @property
    def modules(self) -> list[Path]:
        return sorted((self.folder / "src").rglob("*.py"))


def _find() -> list[Source]:
    folders = sorted([*ROOT.glob("gleg_*/pyproject.toml"), *ROOT.glob("plugins/*/pyproject.toml")])
    return [Source(path.parent) for path in folders]


UMBRELLA = Source(ROOT)
CORE = Source(ROOT / "gleg_core")
SOURCES = _find()
"""Core and every pack, without the umbrella distribution."""
PACKS = [source for source in SOURCES if source != CORE]
EXAMPLES = [Source(path.parent) for path in sorted(ROOT.glob("plugins/examples/*/pyproject.toml"))]
"""Packs as strangers write them: in this repository to be looked at, installed nowhere by default."""


def imported(path: Path, *, top_level_only: bool = False) -> Iterator[str]:
    """Full names of the modules a file imports, those inside functions included unless ``top_level_only``."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in tree.body if top_level_only else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module


def outside(names: Iterator[str]) -> set[str]:
    """Top-level names that do not belong to the standard library."""
    return {name.partition(".")[0] for name in names} - set(sys.stdlib_module_names) - {"__future__"}
