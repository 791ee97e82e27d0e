"""Is an installed pack still the same? Hashes of its files, and of files that problems name; nothing of the pack is imported for them."""

import hashlib
import importlib.util
import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any


def sha256_of(path: Path) -> str:
    """The hash ``sha256sum`` prints."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def files_hash(module: str) -> str:
    """sha256 over the names and contents of all files of the top-level package of ``module``; empty if there is none.

    An installed wheel and the checkout it was built from have the same hash.
    """
    spec = importlib.util.find_spec(module.partition(".")[0])
    if spec is None:
        return ""
    if not spec.submodule_search_locations:
        return sha256_of(Path(spec.origin)) if spec.origin and Path(spec.origin).is_file() else ""
    folder = next(iter(spec.submodule_search_locations))
    files = {path.removeprefix(folder).strip(os.sep).replace(os.sep, "/"): path for path in _files(folder)}
    lines = [f"{hashlib.sha256(Path(p).read_bytes()).hexdigest()}  {name}\n" for name, p in sorted(files.items())]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _files(folder: str) -> Iterator[str]:
    """Paths of all files below a folder, compiled modules left out. Every run asks for them: a walk by ``Path`` takes twice as long."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_file():
                yield entry.path
            elif entry.is_dir(follow_symlinks=False) and entry.name != "__pycache__":
                yield from _files(entry.path)


installed_files = cache(files_hash)
"""The same, worked out once: the files of an installed package are taken not to change while a program runs."""


def named_files(value: Any, folder: Path) -> Iterator[tuple[str, str]]:
    """(path, hash) of every file named anywhere in the data of a problem; weights are named without their ending."""
    if isinstance(value, dict | list):
        for child in value.values() if isinstance(value, dict) else value:
            yield from named_files(child, folder)
    elif isinstance(value, str):
        for path in (folder / value, folder / f"{value}.safetensors"):
            with suppress(OSError):  # a formula that is too long for a name
                if path.is_file():
                    yield str(path), _sha256(path, path.stat().st_mtime_ns)


@cache
def _sha256(path: Path, _changed: int) -> str:
    return sha256_of(path)
