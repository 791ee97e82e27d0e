"""JSON Schema of problem files, the parameters of all installed packs included. For editors."""

from collections.abc import Collection
from typing import Any

from pydantic import BaseModel

from gleg_core.errors import PackError
from gleg_core.registry import Registry
from gleg_core.spec.models import BoundarySection, ComponentSection, ProblemSection, TermSection

Schema = dict[str, Any]
_REFERENCE = "#/$defs/{model}"


def problem_schema(registry: Registry) -> Schema:
    """Core's schema, in which every component is a choice among those installed."""
    schema = ProblemSection.model_json_schema(ref_template=_REFERENCE)
    definitions: Schema = schema["$defs"]
    for place in ("domain", "basis"):
        described = {"description": schema["properties"][place].get("description", "")}
        schema["properties"][place] = {**choice_schema(registry, place, ComponentSection, definitions), **described}
    definitions["BoundarySection"] = choice_schema(registry, "boundary", BoundarySection, definitions)
    definitions["ComponentSection"] = choice_schema(registry, "integrator", ComponentSection, definitions)
    names = [name for full in registry.entries("integrator") for name in _names(registry, "integrator", full)]
    integrator = definitions["TimeSection"]["properties"]["integrator"]
    integrator["anyOf"] = [{"enum": names}, {"$ref": "#/$defs/ComponentSection"}]
    definitions["TermSection"] = {"anyOf": terms_schema(registry, TermSection, definitions)}
    for at, properties in (("problem", schema["properties"]), ("output", definitions["OutputSection"]["properties"]),
                           ("field", definitions["FieldSection"]["properties"])):  # fmt: skip
        properties |= {k: v for k, v in _added(registry, at, definitions).items() if k not in properties}
    replacing = [name for name, o in registry.keys("field").items() if "equation" in o.keys.replaces]
    definitions["FieldSection"]["anyOf"] = [{"required": [name]} for name in ("equation", *replacing)]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "gleg problem file"}


def _added(registry: Registry, at: str, definitions: Schema) -> Schema:
    """The keys that packs add at a place."""
    found: Schema = {}
    named = registry.keys(at, strangers=True)
    for offered in {id(o.keys): o for o in named.values()}.values():
        try:
            own = registry.model(offered).model_json_schema(ref_template=_REFERENCE)
            for name, definition in own.pop("$defs", {}).items():
                definitions.setdefault(name, definition)
            found |= {k: v for k, v in own.get("properties", {}).items() if named.get(k) is offered}
            if offered.keys.schema:
                registry.function(offered, offered.keys.schema)(registry, definitions)
        except (Exception, SystemExit):
            if offered.pack.first_party:
                raise  # a stranger's broken pack is reported where its keys are used, not by the schema
    return found


def terms_schema(
    registry: Registry, model: type[BaseModel], definitions: Schema, without: Collection[str] = ()
) -> list[Schema]:
    """Any of the installed mechanisms, or the square of a sum of them."""
    blocks = choice_schema(registry, "block", model, definitions, "block", {"square", *without})
    square = {
        "type": "object",
        "title": "square",
        "required": ["square"],
        "additionalProperties": False,
        "properties": {k: v for k, v in _own(model).items() if k not in {"block", *without}},
    }
    return [*blocks["anyOf"], square]


def _own(model: type[BaseModel]) -> Schema:
    """The properties of a model; pydantic puts those of a model that refers to itself under $defs."""
    schema = model.model_json_schema(ref_template=_REFERENCE)
    return schema["properties"] if "properties" in schema else schema["$defs"][model.__name__]["properties"]


def choice_schema(
    registry: Registry,
    contract: str,
    model: type[BaseModel],
    definitions: Schema,
    key: str = "kind",
    without: Collection[str] = (),
) -> Schema:
    """Any of the installed components of a contract: its names, its own parameters, and core's keys beside them."""
    shared = {k: v for k, v in _own(model).items() if k != key and k not in without}
    options = []
    for full, component in registry.entries(contract).items():
        try:
            params = registry.params(component).model_json_schema(ref_template=f"#/$defs/{_prefix(full)}{{model}}")
        except PackError:
            continue  # a broken pack is reported by doctor, not by the schema
        definitions.update({_prefix(full) + name: value for name, value in params.pop("$defs", {}).items()})
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


def _prefix(full: str) -> str:
    """Definitions of a component get names of their own: two packs may both call a model ``Params``."""
    return full.replace(":", ".") + "."


def _names(registry: Registry, contract: str, full: str) -> list[str]:
    """The full key, and the bare name while it is unique."""
    bare = full.split(":", 1)[1]
    same = [k for k in registry.entries(contract) if k.split(":", 1)[1] == bare]
    return [bare, full] if len(same) == 1 else [full]
