"""Weights on disk: safetensors beside a card. Everything is checked before a number is used; nothing is ever unpickled."""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from gleg_core.errors import PackError
from gleg_core.learning.card import Card, read_card
from gleg_core.pack import CONTRACT

MAX_WEIGHT_BYTES = 512 * 2**20


def locate(reference: str) -> Path:
    """``"package:stem"`` → path without ending; a plain path stays one."""
    package, colon, stem = reference.partition(":")
    if not colon:
        return Path(reference)
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise PackError(f"weights '{reference}': there is no installed package '{package}'")
    return Path(next(iter(spec.submodule_search_locations))) / stem


def weight_path(stem: Path) -> Path:
    return stem.with_name(stem.name + ".safetensors")


def card_path(stem: Path) -> Path:
    return stem.with_name(stem.name + ".card.json")


def fingerprint(module: torch.nn.Module) -> str:
    """A hash of all parameters: unchanged by anything but training."""
    h = hashlib.sha256()
    for name, tensor in sorted(module.state_dict().items()):
        h.update(name.encode() + str(tuple(tensor.shape)).encode())
        h.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return h.hexdigest()


def load_frozen(module: torch.nn.Module, reference: str, owner: str) -> Card:
    """Fill ``module`` with the weights at ``reference``, freeze it, and return the card; ``owner`` is for messages."""
    stem = locate(reference)
    card = read_card(card_path(stem), owner)
    if card.contract[0] != CONTRACT[0] or card.contract > CONTRACT:
        raise PackError(
            f"{owner}: its weights need contract {card.contract}, this core has {CONTRACT}: pip install -U gleg-core"
        )
    tensors = _read(weight_path(stem), card, owner)
    wanted = {name: list(t.shape) for name, t in module.state_dict().items()}
    found = {name: list(t.shape) for name, t in tensors.items()}
    if wanted != found or card.shapes != found:
        raise PackError(f"{owner}: its weights have tensors {found}, the block needs {wanted}; reinstall its pack")
    for name, tensor in tensors.items():
        if tensor.dtype != torch.float64 or not bool(torch.isfinite(tensor).all()):
            raise PackError(
                f"{owner}: its weights '{name}' are not finite double-precision numbers; reinstall its pack"
            )
    module.load_state_dict(tensors)
    module.requires_grad_(False)
    return card


def _read(path: Path, card: Card, owner: str) -> dict[str, Tensor]:
    try:
        size = path.stat().st_size
        if size > MAX_WEIGHT_BYTES or size != card.size:
            raise PackError(f"{owner}: {path.name} has {size} bytes, its card says {card.size}; reinstall its pack")
        data = path.read_bytes()
    except FileNotFoundError:
        raise PackError(f"{owner}: {path.name} is missing; train it (gleg train) or reinstall its pack") from None
    if hashlib.sha256(data).hexdigest() != card.sha256:
        raise PackError(f"{owner}: {path.name} does not match the hash on its card; reinstall its pack")
    try:
        return safetensors.torch.load(data)
    except safetensors.SafetensorError as error:
        raise PackError(f"{owner}: {path.name} is not a safetensors file: {error}; reinstall its pack") from None


def encode(module: torch.nn.Module) -> bytes:
    """The weights file of a module."""
    return safetensors.torch.save({name: t.detach().contiguous() for name, t in module.state_dict().items()})
