"""The records a registry is made of: packs, what they offer, and the failures of refused packs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from gleg_core.capabilities import Capabilities, capabilities
from gleg_core.pack import Entry, Keys, Tool

Stage = Literal["allow-list", "metadata", "collision", "import", "handshake", "hooks"]
"""Where a pack was refused, in the order the steps are taken."""
C = TypeVar("C", bound=Capabilities)


@dataclass(frozen=True)
class Pack:
    """A loaded pack: where it comes from and what it offers: ``entries`` by contract, ``tools`` by hook."""

    id: str
    distribution: str
    version: str
    module: str
    contract: tuple[int, int]
    licence: str
    entries: Mapping[str, tuple[Entry, ...]] = field(default_factory=dict, compare=False)
    provider: str = ""
    """Author or maintainer, as the distribution's metadata have it."""
    tools: Mapping[str, tuple[Tool | Keys, ...]] = field(default_factory=dict, compare=False)
    first_party: bool = False
    said: str = ""
    """What it printed while it was imported, as one line."""

    def __str__(self) -> str:
        return describe(self.id, self.distribution, self.version)


@dataclass(frozen=True)
class Component:
    """One entry of one pack under its full key ``pack:name``."""

    key: str
    pack: Pack
    contract: str
    entry: Entry = field(compare=False)

    def capabilities(self, kind: type[C]) -> C:
        """What the entry states, as the record of its contract."""
        return capabilities(kind, self.entry.capabilities)


@dataclass(frozen=True)
class Offered:
    """A tool, or keys, and the pack that offers them."""

    pack: Pack
    tool: Tool

    @property
    def key(self) -> str:
        return f"{self.pack.id}:{self.tool.name}"


@dataclass(frozen=True)
class OfferedKeys:
    """Keys of problem files, and the pack that adds them."""

    pack: Pack
    keys: Keys


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


def describe(pack: str, distribution: str, version: str) -> str:
    """``pack 'x' (gleg-x 1.2)``, leaving out what is not known."""
    origin = " ".join(part for part in (distribution, version) if part)
    return f"pack '{pack}' ({origin})" if origin else f"pack '{pack}'"


def printable(text: str, limit: int = 200) -> str:
    """A text of somebody else as one line without control characters."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def one_line(error: BaseException, limit: int = 200) -> str:
    """An exception as one printable line; packs raise whatever they like."""
    try:
        shown = printable(str(error), limit)
    except Exception:
        shown = ""
    return f"{type(error).__name__}: {shown}" if shown else type(error).__name__


def import_remedy(error: BaseException, distribution: str) -> str:
    """What helps when a module of ``distribution`` cannot be imported."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        return (
            f"pip install --upgrade {distribution}   (installs what it declares; if '{error.name}' is still missing, "
            f"the pack does not declare it: pip uninstall {distribution}, or tell its author)"
        )
    return f"pip install --upgrade --force-reinstall --no-deps {distribution}   (or pip uninstall {distribution})"
