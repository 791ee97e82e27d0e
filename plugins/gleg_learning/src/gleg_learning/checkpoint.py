"""Interrupted training: everything needed to go on, in one safetensors file that appears by renaming a finished one."""

import json
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
from torch import Tensor

from gleg_core.atomic import write_bytes


def checkpoint_path(stem: Path) -> Path:
    """Of a training that can go on."""
    return stem.with_name(stem.name + ".checkpoint")


def save(path: Path, state: dict[str, Any]) -> None:
    """Write nested dictionaries and lists of tensors and plain values."""
    tensors: dict[str, Tensor] = {}
    skeleton = _take_apart(state, tensors)
    write_bytes(path, safetensors.torch.save(tensors, {"skeleton": json.dumps(skeleton)}))


def load(path: Path) -> dict[str, Any] | None:
    """The saved state, or None if there is no usable file."""
    try:
        with safetensors.safe_open(str(path), framework="pt") as file:
            skeleton = json.loads(file.metadata()["skeleton"])
            return _put_together(skeleton, {name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118
    except (OSError, safetensors.SafetensorError, KeyError, ValueError, TypeError):
        return None


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
