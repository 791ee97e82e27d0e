"""Spaces and realised mechanisms on disk, under a hash of everything they depend on.

A file appears by renaming a finished one, so a reader never sees half a space and two runs may write the same one;
a file that does not match its own checksum is removed and what it held is made again. Files are mapped into memory, not read.
"""

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from gleg_core.folders import cache_folder

try:
    import fcntl
except ImportError:  # not on this system
    fcntl = None  # type: ignore[assignment]

_LIMIT_BYTES, _MEMORY_BYTES = 4 * 2**30, 2**29
"""What is kept on disk, and in memory within :func:`in_memory`."""

Stored = tuple[dict[str, Tensor], dict[str, Any]]
"""Tensors and notes."""
_memory: ContextVar[dict[str, Stored] | None] = ContextVar("_memory", default=None)


def digest(parts: Iterable[Tensor | str]) -> str:
    """A hash of tensors (values and shapes) and texts."""
    h = hashlib.blake2b(digest_size=20)
    for part in parts:
        if isinstance(part, str):
            h.update(b"s" + part.encode() + b"\0")
        else:
            h.update(f"t{tuple(part.shape)}{part.dtype}".encode())
            h.update(part.detach().cpu().contiguous().numpy().tobytes())
    return h.hexdigest()


def _checksum(tensors: dict[str, Tensor]) -> str:
    """Shapes, and the sums of all words: as fast as memory is read, and no accident leaves it unchanged."""
    parts = [f"{name}{tuple(t.shape)}{t.dtype}{int(t.view(torch.int64).sum())}" for name, t in sorted(tensors.items())]
    return digest(parts)


@contextlib.contextmanager
def in_memory() -> Iterator[None]:
    """What is stored inside is found again inside without a file, so also if there is no folder; the latest 512 MB of it."""
    token = _memory.set({})
    try:
        yield
    finally:
        _memory.reset(token)


def _keep(key: str, tensors: dict[str, Tensor], notes: dict[str, Any]) -> None:
    if (kept := _memory.get()) is not None:
        kept[key] = dict(tensors), dict(notes)
        while len(kept) > 1 and sum(t.nbytes for held, _ in kept.values() for t in held.values()) > _MEMORY_BYTES:
            del kept[next(iter(kept))]


def load(key: str) -> Stored | None:
    """The stored tensors and notes, or None if there are none that can be used."""
    if (found := (_memory.get() or {}).get(key)) is not None:
        tensors, notes = found
        return dict(tensors), dict(notes)
    found = _read(key)
    if found is not None:
        _keep(key, *found)
    return found


def _read(key: str) -> Stored | None:
    folder = cache_folder()
    if folder is None or not (path := folder / f"{key}.safetensors").exists():
        return None
    try:
        with safetensors.safe_open(str(path), framework="pt") as file:
            notes = json.loads(file.metadata()["notes"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
        if notes.pop("checksum") != _checksum(tensors):
            raise ValueError("checksum")
        return tensors, notes
    except Exception:  # any damage means the same: this file is not usable
        with contextlib.suppress(OSError):
            path.unlink()
        return None


@contextlib.contextmanager
def building(key: str) -> Iterator[None]:
    """Held while a space is looked up and built: another process that needs the same one waits, and then finds it stored.

    The lock ends with its process. Where files cannot be locked nobody waits, and a space may be built twice.
    """
    folder = cache_folder()
    if folder is None or fcntl is None:
        yield
        return
    with contextlib.ExitStack() as stack:
        path = folder / f"{key}.lock"
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            file = stack.enter_context(path.open("w"))
            stack.callback(path.unlink, missing_ok=True)  # the next one finds the space, whichever file it locks
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def remembered(key: str, make: Callable[[], Stored]) -> tuple[Stored, bool]:
    """What is stored under a key, or made and stored now; True if it was stored."""
    if (stored := load(key)) is not None:
        return stored, True
    with building(key):
        if (stored := load(key)) is not None:  # another process has made it meanwhile
            return stored, True
        tensors, notes = make()
        return (store(key, tensors, notes), notes), False


def made_once(parts: Iterable[Tensor | str], make: Callable[[], dict[str, Tensor]]) -> dict[str, Tensor]:
    """Tensors under a hash of ``parts``."""
    return remembered(digest(parts), lambda: (make(), {}))[0][0]


def store(key: str, tensors: dict[str, Tensor], notes: dict[str, Any]) -> dict[str, Tensor]:
    """Keep tensors, and give them back as :func:`load` will: where they lie in memory decides how products with them are rounded, and the
    first run must give the numbers of all later ones. A cache that cannot be written (full disk, no permission) costs time, never a run."""
    contiguous = {name: tensor.contiguous() for name, tensor in tensors.items()}
    folder = cache_folder()
    if folder is None:
        _keep(key, contiguous, notes)
        return contiguous
    notes = {**notes, "checksum": _checksum(contiguous)}
    temporary: str | None = None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=folder, suffix=".part")
        os.close(descriptor)
        safetensors.torch.save_file(contiguous, temporary, metadata={"notes": json.dumps(notes)})
        Path(temporary).replace(folder / f"{key}.safetensors")
        _trim(folder)
        stored = load(key)
        return contiguous if stored is None else stored[0]
    except (OSError, safetensors.SafetensorError):
        if temporary:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
        return contiguous


def _trim(folder: Path) -> None:
    """Drop the files used longest ago once the folder exceeds its limit, and leftovers of killed writers."""
    files = sorted(folder.glob("*.safetensors"), key=lambda p: p.stat().st_mtime, reverse=True)
    total = 0
    for path in files:
        total += path.stat().st_size
        if total > _LIMIT_BYTES:
            path.unlink(missing_ok=True)
    newest = max((p.stat().st_mtime for p in files), default=0.0)
    for part in folder.glob("*.part"):
        if part.stat().st_mtime < newest - 3600:
            part.unlink(missing_ok=True)
