"""JSON Schema of problem files, the parameters of all installed packs included. For editors."""

from collections.abc import Collection
from dataclasses import dataclass
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
    choices = Choices(registry, definitions)
    for place in ("domain", "basis"):
        described = {"description": schema["properties"][place].get("description", "")}
        schema["properties"][place] = {**choices.components(place, ComponentSection), **described}
    definitions["BoundarySection"] = choices.components("boundary", BoundarySection)
    definitions["ComponentSection"] = choices.components("integrator", ComponentSection)
    names = [name for full in registry.entries("integrator") for name in choices.names("integrator", full)]
    integrator = definitions["TimeSection"]["properties"]["integrator"]
    integrator["anyOf"] = [{"enum": names}, {"$ref": "#/$defs/ComponentSection"}]
    definitions["TermSection"] = {"anyOf": choices.terms(TermSection)}
    for at, properties in (("problem", schema["properties"]), ("output", definitions["OutputSection"]["properties"]),
                           ("field", definitions["FieldSection"]["properties"])):  # fmt: skip
        properties |= {k: v for k, v in _added(choices, at).items() if k not in properties}
    replacing = [name for name, o in registry.keys("field").items() if "equation" in o.keys.replaces]
    definitions["FieldSection"]["anyOf"] = [{"required": [name]} for name in ("equation", *replacing)]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "gleg problem file"}


@dataclass(frozen=True)
class Choices:
    """Schemas of what is installed; ``definitions`` are those of the whole schema, which ``Keys.schema`` may refine."""

    registry: Registry
    definitions: Schema

    def components(
        self, contract: str, model: type[BaseModel], key: str = "kind", without: Collection[str] = ()
    ) -> Schema:
        """Any of the installed components of a contract: its names, its own parameters, and core's keys beside them."""
        shared = {k: v for k, v in _own(model).items() if k != key and k not in without}
        options = []
        for full, component in self.registry.entries(contract).items():
            prefix = full.replace(":", ".") + "."  # two packs may both call a model ``Params``
            try:
                params = self.registry.params(component).model_json_schema(ref_template=f"#/$defs/{prefix}{{model}}")
            except PackError:
                continue  # a broken pack is reported by doctor, not by the schema
            self.definitions.update({prefix + name: value for name, value in params.pop("$defs", {}).items()})
            described = {"title": full, "description": component.entry.summary}
            properties = {key: {"enum": self.names(contract, full)}, **shared, **params.get("properties", {})}
            options.append(described | _object([key, *params.get("required", [])], properties))
        return {"anyOf": options}

    def terms(self, model: type[BaseModel], without: Collection[str] = ()) -> list[Schema]:
        """Any of the installed mechanisms, or the square of a sum of them."""
        blocks = self.components("block", model, "block", {"square", *without})
        square = {k: v for k, v in _own(model).items() if k not in {"block", *without}}
        return [*blocks["anyOf"], {"title": "square"} | _object(["square"], square)]

    def names(self, contract: str, full: str) -> list[str]:
        """The full key, and the bare name while it is unique."""
        bare = full.split(":", 1)[1]
        same = [k for k in self.registry.entries(contract) if k.split(":", 1)[1] == bare]
        return [bare, full] if len(same) == 1 else [full]


def _object(required: list[str], properties: Schema) -> Schema:
    return {"type": "object", "required": required, "additionalProperties": False, "properties": properties}


def _own(model: type[BaseModel]) -> Schema:
    """The properties of a model; pydantic puts those of a model that refers to itself under $defs."""
    schema = model.model_json_schema(ref_template=_REFERENCE)
    return schema["properties"] if "properties" in schema else schema["$defs"][model.__name__]["properties"]


def _added(choices: Choices, at: str) -> Schema:
    """The keys that packs add at a place."""
    found: Schema = {}
    registry, named = choices.registry, choices.registry.keys(at, strangers=True)
    for offered in {id(o.keys): o for o in named.values()}.values():
        try:
            own = registry.model(offered).model_json_schema(ref_template=_REFERENCE)
            for name, definition in own.pop("$defs", {}).items():
                choices.definitions.setdefault(name, definition)
            found |= {k: v for k, v in own.get("properties", {}).items() if named.get(k) is offered}
            if offered.keys.schema:
                registry.function(offered, offered.keys.schema)(choices)
        except (Exception, SystemExit):
            if offered.pack.first_party:
                raise  # a stranger's broken pack is reported where its keys are used, not by the schema
    return found
