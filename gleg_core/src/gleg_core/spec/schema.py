"""JSON Schema of problem files, the parameters of all installed packs included. For editors."""

from __future__ import annotations

from typing import Any

from gleg_core.errors import PackError
from gleg_core.registry import Registry
from gleg_core.spec.models import BoundarySection, Component, ProblemSection, TermSection

Schema = dict[str, Any]


def problem_schema(registry: Registry) -> Schema:
    """Core's schema, in which every component is a choice among those installed."""
    schema = ProblemSection.model_json_schema(ref_template="#/$defs/{model}")
    definitions: Schema = schema["$defs"]
    properties = schema["properties"]
    for place, contract in (("domain", "domain"), ("basis", "basis")):
        properties[place] = _choice(registry, contract, Component, definitions) | {
            k: v for k, v in properties[place].items() if k in ("description",)
        }
    definitions["BoundarySection"] = _choice(registry, "boundary", BoundarySection, definitions)
    definitions["Component"] = _choice(registry, "integrator", Component, definitions)
    blocks = _choice(registry, "block", TermSection, definitions, key="block")
    square = {
        "type": "object",
        "required": ["square"],
        "additionalProperties": False,
        "properties": {k: v for k, v in _own(TermSection).items() if k != "block"},
    }
    definitions["TermSection"] = {"anyOf": [*blocks["anyOf"], square]}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "gleg problem file", **schema}


def _own(model: type) -> Schema:
    return model.model_json_schema(ref_template="#/$defs/{model}").get("properties") or _deep(model)  # type: ignore[attr-defined]


def _deep(model: type) -> Schema:
    """Properties of a self-referring model, which pydantic puts under $defs."""
    return model.model_json_schema(ref_template="#/$defs/{model}")["$defs"][model.__name__]["properties"]  # type: ignore[attr-defined]


def _choice(registry: Registry, contract: str, model: type, definitions: Schema, key: str = "kind") -> Schema:
    """Any of the installed components of a contract: its names, its own parameters, and core's keys beside them."""
    shared = {k: v for k, v in _own(model).items() if k not in (key, "square")}
    options = []
    for full, component in sorted(registry.entries(contract).items()):
        try:
            params = registry.params(component).model_json_schema(ref_template="#/$defs/{model}")
        except PackError:
            continue  # a broken pack is reported by doctor, not by the schema
        definitions.update(params.pop("$defs", {}))
        options.append(
            {
                "type": "object",
                "title": full,
                "description": component.entry.summary,
                "required": [key, *params.get("required", [])],
                "additionalProperties": False,
                "properties": {
                    key: {"enum": _names(registry, contract, full)},
                    **shared,
                    **params.get("properties", {}),
                },
            }
        )
    return {"anyOf": options}


def _names(registry: Registry, contract: str, full: str) -> list[str]:
    """The full key, and the bare name while it is unique."""
    bare = full.split(":", 1)[1]
    same = [k for k in registry.entries(contract) if k.split(":", 1)[1] == bare]
    return [bare, full] if len(same) == 1 else [full]
