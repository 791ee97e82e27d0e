"""A folder of results: everything into a temporary folder beside the target, then one rename."""

import json
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gleg_core.errors import OutputError


@dataclass(frozen=True)
class Kind:
    """A kind of folder: what it is called, the file every such folder has, and all files that are its own; others are the user's."""

    name: str
    mark: str
    own: frozenset[str]


def check_target(folder: Path, kind: Kind) -> None:
    """Refuse, before any work, a target that is not ours to replace or cannot be written."""
    if folder.is_file():
        raise OutputError(f"{folder}: is a file; choose another folder with --out")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / kind.mark).exists():
        raise OutputError(f"{folder}: holds files that are not {kind.name} of gleg; choose another folder with --out")
    try:
        existing = next(p for p in folder.resolve().parents if p.exists())
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written: {error.strerror}") from None


def write_folder(folder: Path, kind: Kind, fill: Callable[[Path], None]) -> list[str]:
    """What ``fill`` writes into the folder it is given, in ``folder``, replacing an earlier one; all of it or nothing."""
    check_target(folder, kind)
    target = folder.resolve()
    try:
        with _parents_of(target), temporary_beside(target) as temporary:
            fill(temporary)
            temporary.chmod(0o755)
            _put(temporary, target, kind.own)
    except OSError as error:
        raise OutputError(
            f"{folder}: could not be written: {error.strerror or error}. Nothing was left behind"
        ) from error
    return sorted(p.name for p in target.iterdir())


@contextmanager
def _parents_of(target: Path) -> Iterator[None]:
    """The folders above ``target``; those that were made here are removed again if it does not come to be."""
    missing = [p for p in target.parents if not p.exists()]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield
    finally:
        if not target.exists():
            with suppress(OSError):
                for parent in missing:
                    parent.rmdir()


@contextmanager
def temporary_beside(target: Path) -> Iterator[Path]:
    temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        yield temporary
    finally:
        if temporary.exists():
            shutil.rmtree(temporary, ignore_errors=True)


def _put(temporary: Path, target: Path, own: frozenset[str]) -> None:
    """``temporary`` becomes ``target``, in the place of an earlier one; what the user keeps beside it stays."""
    if not target.exists():
        temporary.rename(target)
        return
    for path in target.iterdir():
        if path.name not in own:
            path.rename(temporary / path.name)
    old = temporary.with_name(temporary.name + ".old")
    target.rename(old)
    temporary.rename(target)
    shutil.rmtree(old)


def finite(value: Any) -> Any:
    """Plain data with None for every number that JSON does not know: infinite, or not a number."""
    if isinstance(value, dict):
        return {key: finite(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [finite(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def json_text(data: Any) -> str:
    """Plain data in the form that commands print and folders keep."""
    return json.dumps(finite(data), indent=1, allow_nan=False, ensure_ascii=False)


def reserve(path: Path, size: int) -> None:
    """Fail now if ``size`` bytes do not fit on the disk: HDF5 crashes the process when it cannot write what it holds."""
    if hasattr(os, "posix_fallocate"):
        with path.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, size + 2**16)
        path.unlink()
