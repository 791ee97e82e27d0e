"""What is known of the installed blocks, for listings. Torch is not imported."""

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from gleg_core.capabilities import BlockCapabilities
from gleg_core.errors import GlegError
from gleg_core.registry import Component, Registry
from gleg_core.weight_files import card_path, locate
from gleg_core.weights.card import Bin, Card, read_card


@dataclass(frozen=True)
class Description:
    """One block: what its entry declares and, if it is learned, its card or why there is none."""

    component: Component
    learned: bool
    weights: str | None
    card: Card | None
    trouble: str

    @property
    def capabilities(self) -> BlockCapabilities:
        return self.component.capabilities(BlockCapabilities)

    def as_data(self) -> dict[str, Any]:
        stated, card = self.capabilities, self.card
        worst = None if card is None else worst_bin(card)
        certified = (
            None
            if card is None
            else {
                "held_out": card.held_out,
                "worst_bin": worst[1].error if worst else None,
                **{key: getattr(card, key) for key in ("amplitude", "wavenumber", "sha256")},
            }
        )
        return {
            "key": self.component.key,
            "distribution": self.component.pack.distribution,
            "summary": self.component.entry.summary,
            "structure": stated.structure or None,
            "order": stated.order,
            "degree": stated.degree,
            "modes": list(stated.modes) or None,
            "learned": self.learned,
            "weights": self.weights,
            "certified": certified,
            "trouble": self.trouble or None,
        }


def worst_bin(card: Card) -> tuple[str, Bin] | None:
    """The bin with the largest error and what it is a range of; None if the card has no bins."""
    bins = [("max|u|", b) for b in card.by_amplitude] + [("|k|", b) for b in card.by_wavenumber]
    return max(bins, key=lambda named: named[1].error, default=None)


def stem_of(name: str) -> str:
    """The name that the files of a block have in common, also if one of the files is named."""
    return name.removesuffix(".safetensors").removesuffix(".card.json")


def describe_blocks(registry: Registry) -> list[Description]:
    """All installed blocks in the order of their keys; a card that cannot be used is a trouble of its block only."""
    return [describe(component) for component in registry.entries("block").values()]


def describe(component: Component, weights: str | None = None) -> Description:
    """One block, with the card of ``weights`` or of the weights it comes with."""
    stated, card, trouble = component.capabilities(BlockCapabilities), None, ""
    learned = stated.learned is not None
    try:
        weights = weights or stated.weights
        if weights is not None:
            card = read_card(card_path(locate(weights)), component.key)
    except GlegError as error:
        trouble = str(error)
    return Description(component, learned, weights, card, trouble)


def parameters(model: type[BaseModel]) -> list[tuple[str, str, str]]:
    """(name, what it may be, what it means) of every parameter, from the model's JSON Schema."""
    schema = model.model_json_schema()
    required = set(schema.get("required", ()))
    return [
        (name, _kind(field, name in required), str(field.get("description", "")))
        for name, field in schema.get("properties", {}).items()
    ]


_KINDS = {"string": "text", "array": "list", "boolean": "true or false", "integer": "whole number", "object": "mapping"}


def _kind(field: dict[str, Any], required: bool) -> str:
    kinds = [_type(option) for option in field.get("anyOf", [field])]
    if {"text", "number"} <= set(kinds):
        kinds = ["formula", *(k for k in kinds if k not in ("text", "number"))]
    text = " or ".join(dict.fromkeys(k for k in kinds if k))
    if required:
        return f"{text}, required".lstrip(", ")
    default = field.get("default")
    return text if default is None else f"{text}, default {default}".lstrip(", ")


def _type(option: dict[str, Any]) -> str:
    if "enum" in option:
        return " or ".join(map(str, option["enum"]))
    kind = option.get("type", "")
    return "" if kind == "null" else _KINDS.get(kind, str(kind))
