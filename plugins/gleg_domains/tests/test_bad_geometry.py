"""Every kind of bad geometry gives one clear message."""

import json
from pkgutil import resolve_name

import pytest
from pydantic import ValidationError

from gleg_core.errors import GeometryError
from gleg_core.pack import CONTRACT
from gleg_domains import pack

SQUARE = [[0, 0], [1, 0], [1, 1], [0, 1]]
DISK = {"kind": "disk", "radius": 1}

GEOMETRY = [
    ("polygon", {"vertices": [[0, 0], [1, 1], [1, 0], [0, 1]]}, "crosses or touches itself"),
    ("polygon", {"vertices": [[0, 0], [1, 1]]}, "2 different corners; at least 3"),
    ("polygon", {"vertices": [[0, 0], [1, 1], [2, 2]]}, "no area|crosses or touches itself"),
    ("polygon", {"vertices": SQUARE, "holes": [[[2, 2], [3, 2], [3, 3]]]}, "hole 0 of the polygon lies outside"),
    ("polygon", {"vertices": SQUARE, "holes": [[[0.5, 0.5], [2, 0.5], [2, 0.6]]]}, "hole 0 .* crosses or touches the outer"),
    (
        "polygon",
        {"vertices": SQUARE, "holes": [[[0.2, 0.2], [0.6, 0.2], [0.6, 0.6]], [[0.5, 0.1], [0.7, 0.1], [0.7, 0.5]]]},
        "holes 0 and 1 .* overlap",
    ),
    ("polygon", {"vertices": SQUARE, "segments": {"north": [2, 4]}}, r"'north': edges \[2, 4\] are out of range.*0 to 3"),
    ("polygon", {"vertices": SQUARE, "segments": {"a": [0, 1], "b": [1, 2]}}, "'a' and 'b' both claim edge 1"),
    ("polar", {"radius": "0.2 + 0.5*cos(theta)"}, r"radius is -0.3 at theta = 3.14.*positive"),
    ("polar", {"radius": "1/sin(theta)"}, "finite"),
    ("polar", {"radius": "1 + theta"}, "periodic"),
    ("polar-annulus", {"outer": 0.5, "inner": "0.4+0.2*cos(theta)"}, "inner radius must stay below the outer; at theta = 0"),
    ("curve", {"x": "cos(s/2)", "y": "sin(s)"}, "is not closed: it starts at"),
    ("curve", {"x": "sin(2*s)", "y": "sin(s)"}, "crosses or touches itself"),
    ("curve", {"x": "cos(s)^3", "y": "sin(s)^3"}, "cusp"),
    ("curve", {"x": "cos(s)", "y": "sin(s)", "holes": [{"x": "2+cos(s)", "y": "sin(s)"}]}, "hole 0 of the curve"),
    ("polar", {"radius": "0.5+0.1*abs(cos(300*theta))"}, "too many corners"),
    ("polar", {"radius": "0.5+0.1*sqrt(abs(sin(theta-1)))"}, "cusp at 1; only corners"),
    ("polar", {"radius": "0.5+0.1*step(sin(theta-1))"}, "the radius jumps at"),
    ("curve", {"x": "cos(s)", "y": "sin(s)+0.2*sqrt(abs(cos(s)))"}, "cusp at 1.571"),
    ("level-set", {"function": "0.25-max(abs(x), abs(y))"}, "has a corner"),
    ("level-set", {"function": "-1-x^2-y^2"}, "nowhere positive"),
    ("level-set", {"function": "1+x^2"}, "no zero contour"),
    ("level-set", {"function": "4-x^2-y^2+0*y"}, "no zero contour|runs out of the box"),
    ("level-set", {"function": "0.5-x"}, "runs out of the box"),
    ("level-set", {"function": "x^2*(0.49-x^2)-y^2"}, "gradient .* vanishes|too sharp"),
    ("level-set", {"function": "1/x"}, "must be finite"),
    ("intersection", {"of": [DISK, {"kind": "disk", "radius": 1, "centre": [5, 0]}]}, "empty"),
    ("difference", {"of": [DISK, {"kind": "disk", "radius": 2}]}, "empty"),
    ("union", {"of": [{**DISK, "name": "a"}, {"kind": "disk", "radius": 2, "name": "a"}]}, "names of combined domains must differ"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "params", "message"), GEOMETRY, ids=[f"{g[0]}-{i}" for i, g in enumerate(GEOMETRY)])
def test_geometry_error(build, kind, params, message):
    with pytest.raises(GeometryError, match=message):
        build(kind, **params)


PARAMETERS = [
    ("disk", {"radius": -1}, "greater than 0"),
    ("disk", {"radius": "nan"}, "finite|nan"),
    ("disk", {"radius": 1, "center": [0, 0]}, "Extra inputs"),
    ("annulus", {"outer": 0.3, "inner": 0.5}, "inner must be less than outer"),
    ("interval", {"left": 1, "right": 0}, "low < high"),
    ("rectangle", {"x": [0, 0], "y": [0, 1]}, "x of the rectangle needs low < high"),
    ("level-set", {"function": "x+z"}, "unknown name 'z'"),
    ("union", {"of": [DISK]}, "at least 2"),
    ("union", {"of": [DISK, {"kind": "dsik", "radius": 1}]}, "Did you mean 'disk'"),
    ("union", {"of": [DISK, {"kind": "interval", "left": 0, "right": 1}]}, "no plane domain is called 'interval'"),
    ("union", {"of": [DISK, {"radius": 1}]}, "must be a mapping with a `kind`"),
    ("union", {"of": [DISK, {"kind": ["disk"]}]}, r"no plane domain is called \['disk'\]"),
    ("union", {"of": [DISK, {"kind": "disk", "radius": -1}]}, "greater than 0"),
    ("cylinder-channel", {"radius": 0.5}, "strictly inside the channel"),
]


@pytest.mark.parametrize(
    ("kind", "params", "message"), PARAMETERS, ids=[f"{g[0]}-{i}" for i, g in enumerate(PARAMETERS)]
)
def test_parameter_error(build, kind, params, message):
    with pytest.raises(ValidationError, match=message):
        build(kind, **params)


# --- GeoJSON -----------------------------------------------------------------------------------------------------

RING = [*SQUARE, SQUARE[0]]
POLYGON = {"type": "Polygon", "coordinates": [RING, [[0.4, 0.4], [0.6, 0.4], [0.6, 0.6], [0.4, 0.4]]]}
FEATURE = {"type": "Feature", "properties": {}, "geometry": POLYGON}


@pytest.mark.parametrize("content", [POLYGON, FEATURE, {"type": "FeatureCollection", "features": [FEATURE]}])
def test_geojson_relative_to_the_problem_file(build, tmp_path, content):
    (tmp_path / "island.geojson").write_text(json.dumps(content))
    domain = build("geojson", folder=str(tmp_path), path="island.geojson", segments={"south": [0, 0]})
    assert domain.measure == pytest.approx(0.98)
    assert [s.name for s in domain.segments] == ["south", "boundary", "hole0"]
    inside = {"kind": "geojson", "path": "island.geojson"}
    nested = build("intersection", folder=str(tmp_path), of=[inside, {"kind": "disk", "radius": 1}])
    assert nested.measure < 0.98


BAD_FILES = [
    ("{", "not valid JSON"),
    (json.dumps([1]), "no GeoJSON object"),
    (json.dumps({"type": "Point", "coordinates": [0, 0]}), "holds Point; allowed"),
    (json.dumps({"type": "MultiPolygon", "coordinates": [[RING], [RING]]}), "MultiPolygon of 2 parts"),
    (json.dumps({"type": "FeatureCollection", "features": [FEATURE, FEATURE]}), "2 polygons; exactly one"),
    (json.dumps({"type": "Polygon", "coordinates": [[["a", 0], [1, 0], [1, 1]]]}), "coordinates must be"),
    (
        json.dumps({"type": "Polygon", "coordinates": [[[0, 0], [1, 1], [1, 0], [0, 1], [0, 0]]]}),
        "crosses or touches itself",
    ),
    (json.dumps({"type": "Polygon", "coordinates": []}), "at least one ring"),
]


@pytest.mark.parametrize(("text", "message"), BAD_FILES, ids=[m for _, m in BAD_FILES])
def test_bad_geojson(build, tmp_path, text, message):
    (tmp_path / "bad.geojson").write_text(text)
    with pytest.raises(GeometryError, match=message):
        build("geojson", folder=str(tmp_path), path="bad.geojson")


def test_missing_geojson(build, tmp_path):
    with pytest.raises(GeometryError, match=r"cannot read the GeoJSON file .*nowhere.geojson: No such file"):
        build("geojson", folder=str(tmp_path), path="nowhere.geojson")


# --- the pack ----------------------------------------------------------------------------------------------------


def test_contract_and_unique_names():
    entries = pack.gleg_domains()
    assert pack.CONTRACT == CONTRACT
    assert len({e.name for e in entries}) == len(entries) == 24


@pytest.mark.parametrize("entry", pack.gleg_domains(), ids=lambda e: e.name)
def test_examples_validate_and_survive_a_round_trip(entry):
    model = resolve_name(entry.params)
    params = model.model_validate(entry.examples[0])
    assert model.model_validate(params.model_dump()).model_dump() == params.model_dump()
    assert model.model_json_schema()["type"] == "object"
    if entry.name != "geojson":
        assert resolve_name(entry.factory)(params).measure > 0


def test_listing_the_pack_is_light():
    import subprocess
    import sys

    code = "import sys, gleg_domains.pack as p; p.gleg_domains()\n"
    code += "print(any(m in sys.modules for m in ('numpy', 'pydantic', 'shapely', 'torch')))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"


def test_nothing_here_needs_torch():
    import subprocess
    import sys

    code = "import sys; from gleg_domains.named import NamedParams, Rosette\n"
    code += "Rosette(NamedParams()).quadrature(20.0); print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"
