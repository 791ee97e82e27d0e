"""Interrupted training: everything needed to go on, in one safetensors file that appears by renaming a finished one."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
from torch import Tensor


def save(path: Path, state: dict[str, Any]) -> None:
    """Write nested dictionaries and lists of tensors and plain values."""
    tensors: dict[str, Tensor] = {}
    skeleton = _take_apart(state, tensors)
    write_atomically(path, safetensors.torch.save(tensors, {"skeleton": json.dumps(skeleton)}))


def load(path: Path) -> dict[str, Any] | None:
    """The saved state, or None if there is no usable file."""
    try:
        with safetensors.safe_open(str(path), framework="pt") as file:
            skeleton = json.loads(file.metadata()["skeleton"])
            return _put_together(skeleton, {name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118
    except (OSError, safetensors.SafetensorError, KeyError, ValueError, TypeError):
        return None


def write_atomically(path: Path, data: bytes) -> None:
    """A reader sees the old file or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise


def _take_apart(value: Any, tensors: dict[str, Tensor]) -> Any:
    if isinstance(value, Tensor):
        name = str(len(tensors))
        tensors[name] = value.detach().clone().contiguous()
        return {"tensor": name}
    if isinstance(value, dict):
        return {"items": [[_take_apart(k, tensors), _take_apart(v, tensors)] for k, v in value.items()]}
    if isinstance(value, (list, tuple)):
        return {"list": [_take_apart(v, tensors) for v in value]}
    return {"value": value}


def _put_together(skeleton: Any, tensors: dict[str, Tensor]) -> Any:
    match skeleton:
        case {"tensor": name}:
            return tensors[name]
        case {"items": items}:
            return {_put_together(k, tensors): _put_together(v, tensors) for k, v in items}
        case {"list": values}:
            return [_put_together(v, tensors) for v in values]
    return skeleton["value"]
