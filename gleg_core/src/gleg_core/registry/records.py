"""The records a registry is made of: packs, their components, and the failures of refused packs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from gleg_core.pack import Entry

Stage = Literal["allow-list", "metadata", "collision", "import", "handshake", "hooks"]
"""Where a pack was refused, in the order the steps are taken."""


@dataclass(frozen=True)
class Pack:
    """A loaded pack: where it comes from and, per contract, the entries it offers."""

    id: str
    distribution: str
    version: str
    module: str
    contract: tuple[int, int]
    licence: str
    entries: Mapping[str, tuple[Entry, ...]] = field(default_factory=dict, compare=False)
    provider: str = ""
    """Author or maintainer, as the distribution's metadata have it."""

    def __str__(self) -> str:
        return describe(self.id, self.distribution, self.version)


@dataclass(frozen=True)
class Component:
    """One entry of one pack under its full key ``pack:name``."""

    key: str
    pack: Pack
    contract: str
    entry: Entry = field(compare=False)


@dataclass(frozen=True)
class Failure:
    """A pack that was refused: at which stage, why, and what helps (a pip command or an action)."""

    pack: str
    distribution: str
    version: str
    stage: Stage
    message: str
    remedy: str

    def __str__(self) -> str:
        origin = describe(self.pack, self.distribution, self.version)
        return f"{origin} was refused at stage '{self.stage}': {self.message}\n  Remedy: {self.remedy}"


class Refusal(Exception):
    """Raised while a pack is read, turned into its :class:`Failure`."""

    def __init__(self, stage: Stage, message: str, remedy: str) -> None:
        super().__init__(message)
        self.stage: Stage = stage
        self.message = message
        self.remedy = remedy


def describe(pack: str, distribution: str, version: str) -> str:
    """``pack 'x' (gleg-x 1.2)``, leaving out what is not known."""
    origin = " ".join(part for part in (distribution, version) if part)
    return f"pack '{pack}' ({origin})" if origin else f"pack '{pack}'"


def one_line(error: BaseException, limit: int = 200) -> str:
    """An exception as one printable line; packs raise whatever they like."""
    try:
        text = "".join(c if c.isprintable() else " " for c in str(error))
    except Exception:
        text = ""
    text = " ".join(text.split())
    shown = text if len(text) <= limit else text[: limit - 1] + "…"
    return f"{type(error).__name__}: {shown}" if shown else type(error).__name__


def import_remedy(error: BaseException, distribution: str) -> str:
    """What helps when a module of ``distribution`` cannot be imported."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        return (
            f"pip install --upgrade {distribution}   (installs what it declares; if '{error.name}' is still missing, "
            f"the pack does not declare it: pip uninstall {distribution}, or tell its author)"
        )
    return f"pip install --upgrade --force-reinstall --no-deps {distribution}   (or pip uninstall {distribution})"
