"""Results of ``gleg check``, kept per distribution, version and pack, so that ``gleg packs`` can show them.

A certificate remembers the hash of the files that were checked. They are in the user's data folder; ``GLEG_CHECKS`` names another
folder, or is ``off``.
"""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import platformdirs

from gleg_core import atomic
from gleg_core.registry import Pack
from gleg_core.registry.fingerprint import files_hash


@dataclass(frozen=True)
class Certificate:
    """How a pack fared: ``kit`` is the version of the checks, ``expected`` failures are those its author announced,
    ``current`` is False if its files have changed since."""

    kit: str
    passed: int
    failed: int
    expected: int
    date: str
    current: bool

    def __str__(self) -> str:
        if not self.current:
            return "changed since checked"
        counts = {"passed": self.passed, "FAILED": self.failed, "expected to fail": self.expected}
        shown = [f"{count} {word}" for word, count in counts.items() if count]
        return f"conformance {self.kit}: {', '.join(shown) or 'no checks'}"


def checks_folder() -> Path | None:
    """Where certificates are kept; None if ``GLEG_CHECKS`` is ``off``."""
    chosen = os.environ.get("GLEG_CHECKS", "")
    if chosen.lower() == "off":
        return None
    return Path(chosen) if chosen else platformdirs.user_data_path("gleg") / "checks"


def store(pack: Pack, report: Mapping[str, Any]) -> Path | None:
    """Keep a report of ``gleg check``: plain data with ``kit``, ``passed``, ``failed``, and if it likes ``expected`` and more.

    Returns the file, or None if certificates are off or cannot be written: a check does not fail for want of a folder.
    """
    if (path := _path(pack)) is None:
        return None
    facts = {
        "pack": pack.id,
        "distribution": pack.distribution,
        "version": pack.version,
        "sha256": files_hash(pack.module),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "report": dict(report),
    }
    try:
        atomic.write_text(path, json.dumps(facts, indent=1, ensure_ascii=False) + "\n")
    except OSError:
        return None
    return path


def load(pack: Pack) -> Certificate | None:
    """The certificate of an installed pack; None if this version was never checked. The files are hashed only if it was."""
    path = _path(pack)
    if path is None or not path.is_file():
        return None
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        report = facts["report"]
        return Certificate(
            kit=str(report["kit"]),
            passed=int(report["passed"]),
            failed=int(report["failed"]),
            expected=int(report.get("expected", 0)),
            date=str(facts["date"]),
            current=facts["sha256"] == files_hash(pack.module),
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None  # a damaged certificate certifies nothing


def _path(pack: Pack) -> Path | None:
    folder = checks_folder()
    name = re.sub(r"[^\w.+-]", "_", f"{pack.distribution}-{pack.version}-{pack.id}.json")
    return folder / name if folder else None
