"""The card of a learned block: what it is, how it was trained, how well, and within which range. Torch is not imported."""

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gleg_core.errors import PackError
from gleg_core.pack import CONTRACT

MAX_CARD_BYTES = 2_000_000


class Bin(BaseModel):
    """Held-out relative error for states of one range of amplitude or wavenumber."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)
    low: float
    high: float
    error: float = Field(ge=0)


class Card(BaseModel):
    """Machine-readable facts about a learned block."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)
    block: str = Field(description="full key of the block, pack:name")
    summary: str = Field(description="the term it stands for, with its sign")
    contract: tuple[int, int] = Field(description="contract version it was written with")
    structure: str = Field(description="E, H, R or auxiliary, and how the parametrisation guarantees it")
    order: int = Field(description="highest derivative")
    degree: int | None = Field(description="polynomial degree in the fields, if it is polynomial")
    target: str = Field(description="what it was trained on: 'reference', or a description of the data")
    shapes: dict[str, list[int]] = Field(description="names and shapes of the parameters")
    sha256: str = Field(description="hash of the weights file")
    size: int = Field(ge=0, description="size of the weights file in bytes")
    recipe: dict[str, Any] = Field(description="the whole training recipe, seed included")
    held_out: float = Field(ge=0, description="relative L² error over all held-out samples")
    by_amplitude: list[Bin] = Field(description="held-out error per range of max|u|")
    by_wavenumber: list[Bin] = Field(
        description="held-out error per range of the wavenumber |k| of single modes on [−1, 1]^d"
    )
    amplitude: float = Field(gt=0, description="certified for max|u| up to this value")
    wavenumber: float = Field(gt=0, description="certified for |k| up to this value on the box [−1, 1]^d")
    samples: int = Field(ge=0, description="number of training residuals")
    licence: str = Field(description="licence of the weights")
    versions: dict[str, str] = Field(description="software it was trained with")


def read_bytes(path: Path, named: str, most: int) -> bytes:
    """The content of a file of a learned block, which is ``named`` so in messages."""
    try:
        if (size := path.stat().st_size) > most:
            raise PackError(f"{named} has {size} bytes, more than {most}")
        return path.read_bytes()
    except FileNotFoundError:
        raise PackError(f"{named} is missing; train it, or reinstall its pack") from None
    except OSError as error:
        raise PackError(f"{named} cannot be read: {error.strerror or error}") from None


def read_card(path: Path, owner: str) -> Card:
    """Read and check a card; ``owner`` names the block in messages."""
    try:
        data = json.loads(read_bytes(path, f"{owner}: its card {path.name}", MAX_CARD_BYTES).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise _unusable(owner, path, f"it is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise _unusable(owner, path, "it is not a mapping of keys")
    _check_contract(data.get("contract"), owner)
    try:
        return Card.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise _unusable(owner, path, f"{place}: {first['msg'][0].lower()}{first['msg'][1:]}") from None


def _unusable(owner: str, path: Path, reason: str) -> PackError:
    return PackError(f"{owner}: its card {path.name} cannot be used: {reason}; reinstall its pack or train it again")


def _check_contract(stated: object, owner: str) -> None:
    """Before anything else: a card of a newer contract may have keys that this core does not know."""
    if not (isinstance(stated, list) and len(stated) == 2 and all(type(n) is int for n in stated)):
        return  # the model says what is wrong with it
    if stated[0] != CONTRACT[0] or tuple(stated) > CONTRACT:
        needs, have = (".".join(map(str, version)) for version in (stated, CONTRACT))
        remedy = "pip install -U gleg-core" if tuple(stated) > CONTRACT else "train it again, or update its pack"
        raise PackError(f"{owner}: its weights need contract {needs}, this gleg-core has {have}: {remedy}")
