"""JSON Schema of problem files for editors: valid files fit it, wrong ones do not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gleg_cli.schema import problem_schema
from gleg_core.errors import GlegError
from gleg_core.registry import default_registry
from gleg_core.spec.loading import Document, load_document
from gleg_core.spec.models import ProblemSection
from gleg_core.spec.overrides import with_overrides
from gleg_core.spec.problem import load_problem
from gleg_results.resolved import resolved
from gleg_results.settings import load_value

YAML = """\
title: Two fields
domain: {kind: disk, radius: 0.6}
basis: {kind: fourier, K: 6}
constants: {D: 1e-3, k: 2*pi, half: .5, many: 1_000}
formulas:
  bump: exp(-k*(x^2 + y^2))
  twice: 2*bump
fields:
  u:
    initial: bump
    boundary: [{kind: robin, kappa: half, value: t}]
    equation:
      - {block: diffusion, coefficient: D}
      - {block: product, powers: {u: 2, v: 1}, coefficient: -1}
  v:
    exact: twice*cos(t)
    boundary: [{kind: dirichlet, where: all, data: exact}]
    equation: [{block: diffusion, coefficient: 2*D}]
time: {end: 0.1, step: 0.05}
output: {frames: 2, grid: 21, pictures: false}
"""

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.yaml"))
SQUARE = {
    "fields": {
        "u": {
            "boundary": [{"kind": "clamped"}],
            "equation": [
                {"square": [{"block": "diffusion"}, {"block": "power", "coefficient": "half"}], "coefficient": -1}
            ],
        }
    },
    "time": {"integrator": {"kind": "etdrk4", "scheme": "krogstad"}},
    "space": {"box": [[-1, 1], [-1, "half + 0.5"]], "rotate": False},
    "output": {"probes": [[0, "half/5"]]},
}


def data() -> dict[str, Any]:
    return load_value(YAML, "two-fields")


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return json.loads(json.dumps(problem_schema(default_registry())))


TYPES: dict[str, Any] = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


class Checker:
    """The part of JSON Schema that our schema uses; an unknown keyword is an error, so nothing is passed over."""

    NOTES = frozenset(["title", "description", "default", "$schema", "$defs", "propertyNames", "examples"])

    def __init__(self, root: dict[str, Any]):
        self.root = root

    def fits(self, value: Any, schema: Any) -> bool:
        if isinstance(schema, bool):
            return schema
        return all(self.keyword(key, wanted, value, schema) for key, wanted in schema.items() if key not in self.NOTES)

    def keyword(self, key: str, wanted: Any, value: Any, schema: dict[str, Any]) -> bool:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        match key:
            case "$ref":
                return self.fits(value, self.root["$defs"][wanted.removeprefix("#/$defs/")])
            case "type" if wanted == "number":
                return number
            case "type" if wanted == "integer":
                return number and float(value).is_integer()
            case "type":
                return isinstance(value, TYPES[wanted])
            case "anyOf":
                return any(self.fits(value, option) for option in wanted)
            case "enum":
                return value in wanted
            case "const":
                return value == wanted
            case "required":
                return not isinstance(value, dict) or set(wanted) <= set(value)
            case "properties":
                return not isinstance(value, dict) or all(
                    self.fits(v, wanted[k]) for k, v in value.items() if k in wanted
                )
            case "additionalProperties":
                extra = set(value) - set(schema.get("properties", {})) if isinstance(value, dict) else set()
                return all(self.fits(value[k], wanted) for k in extra)
            case "items":
                first = len(schema.get("prefixItems", []))
                return not isinstance(value, list) or all(self.fits(v, wanted) for v in value[first:])
            case "prefixItems":
                return not isinstance(value, list) or all(map(self.fits, value, wanted))
            case "minItems" | "maxItems":
                return not isinstance(value, list) or (
                    len(value) >= wanted if key == "minItems" else len(value) <= wanted
                )
            case "minProperties":
                return not isinstance(value, dict) or len(value) >= wanted
            case "minimum" | "exclusiveMinimum":
                return not number or (value >= wanted if key == "minimum" else value > wanted)
            case "maximum" | "exclusiveMaximum":
                return not number or (value <= wanted if key == "maximum" else value < wanted)
        raise NotImplementedError(key)


def test_the_schema_is_a_schema(schema: dict[str, Any]) -> None:
    assert schema["$schema"].endswith("2020-12/schema") and schema["title"] == "gleg problem file"
    text = json.dumps(schema)
    references = {part.split('"')[0] for part in text.split('"$ref": "#/$defs/')[1:]}
    assert references <= set(schema["$defs"])
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_the_schema_accepts_the_examples(path: Path, schema: dict[str, Any]) -> None:
    assert Checker(schema).fits(load_document(path).data, schema)


def test_the_schema_accepts_what_gleg_accepts(schema: dict[str, Any]) -> None:
    check = Checker(schema)
    assert check.fits(data(), schema)
    for overrides in ({}, SQUARE):
        problem = load_problem(data(), overrides)
        assert check.fits(problem.document.data, schema)
        assert check.fits(json.loads(json.dumps(resolved(problem))), schema)


@pytest.mark.parametrize(
    "change",
    [
        {"titel": "x"}, {"domain": {"raduis": 1}}, {"domain": {"kind": "dsk"}}, {"basis": {"k": 3}}, {"constants": {"D": [1]}},
        {"time": {"stp": 1}}, {"time": {"integrator": "etdrk5"}}, {"time": {"end": None}}, {"output": {"frames": "2", "frame": 1}},
        {"space": {"lift": "none"}}, {"fields": {"u": {"equation": [{"block": "difusion"}]}}}, {"fields": 3},
        {"fields": {"u": {"boundary": [{"kind": "robin"}]}}}, {"fields": {"u": {"equation": []}}},
        {"fields": {"u": {"equation": [{"block": "diffusion", "coeficient": 1}]}}},
    ],
    ids=json.dumps,
)  # fmt: skip
def test_the_schema_refuses_what_gleg_refuses(change: dict[str, Any], schema: dict[str, Any]) -> None:
    document = with_overrides(Document(data()), change)
    assert not Checker(schema).fits(document.data, schema)
    with pytest.raises(GlegError):
        load_problem(document)


@pytest.mark.parametrize("kind", ["union", "intersection", "difference"])
def test_the_schema_knows_domains_in_domains(kind: str, schema: dict[str, Any]) -> None:
    disk, box = {"kind": "disk", "radius": 1}, {"kind": "rectangle", "x": [0, 2], "y": [0, 2], "name": "box"}
    nested = {"kind": kind, "of": [disk, {"kind": "union", "of": [disk, box]}]}
    check = Checker(schema)
    for operands, good in (
        ([disk, box], True),
        ([disk, nested], True),
        ([disk, {"kind": "dsk"}], False),
        ([disk], False),
    ):
        document = Document({**data(), "domain": {"kind": kind, "of": operands}})
        assert check.fits(document.data, schema) is good, operands
        if good:
            assert check.fits(json.loads(json.dumps(resolved(load_problem(document)))), schema)
        else:
            with pytest.raises(GlegError):
                load_problem(document)


def test_every_key_is_described(schema: dict[str, Any]) -> None:
    def keys(part: Any, where: str) -> list[str]:
        if isinstance(part, list):
            return [w for i, item in enumerate(part) for w in keys(item, f"{where}[{i}]")]
        if not isinstance(part, dict):
            return []
        silent = [
            f"{where}.{name}" for name, value in part.get("properties", {}).items()
            if isinstance(value, dict) and "enum" not in value and not value.get("description")
        ]  # fmt: skip
        return silent + [w for name, value in part.items() for w in keys(value, f"{where}.{name}")]

    core = ProblemSection.model_json_schema()
    assert keys(core, "") == []
