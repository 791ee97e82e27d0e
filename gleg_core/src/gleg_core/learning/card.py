"""The card of a learned block: what it is, how it was trained, how well, and within which range. Torch is not imported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gleg_core.errors import PackError

MAX_CARD_BYTES = 2_000_000


class Bin(BaseModel):
    """Held-out relative error for states of one range of amplitude or wavenumber."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    low: float
    high: float
    error: float


class Card(BaseModel):
    """Machine-readable facts about a learned block."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    block: str = Field(description="full key of the block, pack:name")
    summary: str = Field(description="the term it stands for, with its sign")
    contract: tuple[int, int] = Field(description="contract version it was written with")
    structure: str = Field(description="E, H, R or auxiliary, and how the parametrisation guarantees it")
    order: int = Field(description="highest derivative")
    degree: int | None = Field(description="polynomial degree in the fields, if it is polynomial")
    target: str = Field(description="what it was trained on: 'reference', or a description of the data")
    shapes: dict[str, list[int]] = Field(description="names and shapes of the parameters")
    sha256: str = Field(description="hash of the weights file")
    size: int = Field(description="size of the weights file in bytes")
    recipe: dict[str, Any] = Field(description="the whole training recipe, seed included")
    held_out: float = Field(description="relative L² error over all held-out samples")
    by_amplitude: list[Bin] = Field(description="held-out error per range of max|u|")
    by_wavenumber: list[Bin] = Field(
        description="held-out error per range of the wavenumber |k| of single modes on [−1, 1]^d"
    )
    amplitude: float = Field(description="certified for max|u| up to this value")
    wavenumber: float = Field(description="certified for |k| up to this value on the box [−1, 1]^d")
    samples: int = Field(description="number of training residuals")
    licence: str = Field(description="licence of the weights")
    versions: dict[str, str] = Field(description="software it was trained with")


def read_card(path: Path, owner: str) -> Card:
    """Read and check a card; ``owner`` names the block in messages."""
    try:
        if path.stat().st_size > MAX_CARD_BYTES:
            raise PackError(
                f"{owner}: its card {path.name} has {path.stat().st_size} bytes, more than {MAX_CARD_BYTES}"
            )
        return Card.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise PackError(
            f"{owner}: its card {path.name} is missing; train it (gleg train) or reinstall its pack"
        ) from None
    except (OSError, ValueError, ValidationError) as error:
        detail = str(error).splitlines()[0]
        raise PackError(f"{owner}: its card {path.name} cannot be used: {detail}; reinstall its pack") from None
