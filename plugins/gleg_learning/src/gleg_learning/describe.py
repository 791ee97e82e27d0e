"""What is known of the installed blocks, for listings. Torch is imported only if a learned block hides where its weights are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from gleg_core.errors import GlegError
from gleg_core.weights.card import Card, read_card
from gleg_core.weights.files import card_path, locate
from gleg_core.registry import Component, Registry


@dataclass(frozen=True)
class Description:
    """One block: what its entry declares and, if it is learned, its card or why there is none."""

    component: Component
    learned: bool
    weights: str | None
    card: Card | None
    trouble: str

    def declared(self, name: str) -> Any:
        """A capability of the entry, None if it is not declared."""
        return self.component.entry.capabilities.get(name)

    def as_data(self) -> dict[str, Any]:
        card = self.card
        return {
            "key": self.component.key,
            "distribution": self.component.pack.distribution,
            "summary": self.component.entry.summary,
            **{name: self.declared(name) for name in ("structure", "order", "degree", "modes")},
            "learned": self.learned,
            "weights": self.weights,
            "certified": None
            if card is None
            else {
                "held_out": card.held_out,
                "worst_bin": card.worst_bin[1].error if card.worst_bin else None,
                "amplitude": card.amplitude,
                "wavenumber": card.wavenumber,
                "sha256": card.sha256,
            },
            "trouble": self.trouble or None,
        }


def describe_blocks(registry: Registry) -> list[Description]:
    """All installed blocks in the order of their keys; a card that cannot be used is a trouble of its block only."""
    return [describe(registry, component) for component in registry.entries("block").values()]


def describe(registry: Registry, component: Component, weights: str | None = None) -> Description:
    """One block, with the card of ``weights`` or of the weights it comes with."""
    learned = isinstance(component.entry.capabilities.get("learned"), str)
    card, trouble = None, ""
    try:
        if weights is None and learned:
            weights = _installed_weights(registry, component)
        if weights is not None:
            card = read_card(card_path(locate(weights)), component.key)
    except GlegError as error:
        trouble = str(error)
    return Description(component, learned, weights, card, trouble)


def _installed_weights(registry: Registry, component: Component) -> str | None:
    """Where the weights a block comes with are; None if they are a parameter of the problem file.

    The capability ``weights`` says it; else a parameter of that name; only then the class is imported and asked.
    """
    capabilities = component.entry.capabilities
    if "weights" in capabilities:
        stated = capabilities["weights"]
        return stated if isinstance(stated, str) else None
    if "weights" in registry.params(component).model_fields:
        return None
    from gleg_learning.blocks import learned_class

    return getattr(learned_class(registry, component.key)[1], "weights", None) or None


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
