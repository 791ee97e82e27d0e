"""Weights on disk: safetensors beside a card. Everything is checked before a number is used; nothing is ever unpickled."""

import hashlib
from pathlib import Path

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from gleg_core.errors import PackError
from gleg_core.weight_files import card_path, locate, weight_path
from gleg_core.weights.card import Card, read_card

MAX_WEIGHT_BYTES = 512 * 2**20


def fingerprint(module: torch.nn.Module) -> str:
    """A hash of all parameters: unchanged by anything but training."""
    h = hashlib.sha256()
    for name, tensor in sorted(module.state_dict().items()):
        h.update(name.encode() + str(tuple(tensor.shape)).encode())
        h.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return h.hexdigest()


def load_frozen(module: torch.nn.Module, reference: str, owner: str, block: str | None = None) -> Card:
    """Fill ``module`` with the weights at ``reference``, freeze it, and return the card.

    ``owner`` is for messages; ``block``, if given, is the full key the card must name: weights of another block are refused.
    """
    stem = locate(reference)
    card = read_card(card_path(stem), owner)
    if block is not None and card.block != block:
        raise PackError(f"{owner}: the weights {stem.name} are those of the block '{card.block}'")
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
        if size > MAX_WEIGHT_BYTES:
            raise PackError(f"{owner}: {path.name} has {size} bytes, more than {MAX_WEIGHT_BYTES}")
        if size != card.size:
            raise PackError(f"{owner}: {path.name} has {size} bytes, its card says {card.size}; reinstall its pack")
        data = path.read_bytes()
    except FileNotFoundError:
        raise PackError(f"{owner}: {path.name} is missing; train it, or reinstall its pack") from None
    except OSError as error:
        raise PackError(f"{owner}: {path.name} cannot be read: {error.strerror or error}") from None
    if hashlib.sha256(data).hexdigest() != card.sha256:
        raise PackError(f"{owner}: {path.name} does not match the hash on its card; reinstall its pack")
    try:
        return safetensors.torch.load(data)
    except (safetensors.SafetensorError, KeyError, ValueError, RuntimeError) as error:
        raise PackError(f"{owner}: {path.name} is not a safetensors file: {error}; reinstall its pack") from None


def encode(module: torch.nn.Module) -> bytes:
    """The weights file of a module."""
    return safetensors.torch.save({name: t.detach().clone().contiguous() for name, t in module.state_dict().items()})
