"""Every mistake in a drawing or a map gives one message that says what is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from gleg_core.errors import GeometryError, GlegError
from gleg_core.spec.problem import load_problem
from gleg_domains_drawings.region import Region

Draw = Chart = Callable[..., Region]
LEAVES = '<circle id="leaf" r="1"/><rect id="pot" width="1" height="1"/><circle r="2"/>'

DRAWINGS: list[tuple[str, dict[str, Any], str]] = [
    ("<circle", {}, "drawing.svg is not an SVG drawing: .*line 1"),
    ('<?xml version="1.0"?><html/>', {}, "outermost element is <html>, not <svg>"),
    ('<?xml version="1.0" encoding="no-such"?><svg/>', {}, "is not an SVG drawing"),
    ("<text>hello</text>", {}, "shows no shape; one of circle, ellipse, path, polygon, rect is needed"),
    (LEAVES, {}, "shows 3 shapes; choose one by element: id. Ids: leaf, pot, and 1 without an id"),
    (LEAVES, {"element": "laef"}, r"with the id 'laef'. Ids: leaf, pot\. Did you mean 'leaf'\?"),
    ('<path id="a" d="M0 0 L1 0 L1 1"/>', {}, r"<path> 'a' in drawing.svg is open: .* starts at \(0, 0\) and ends at \(1, 1\)"),
    ('<path d="M0 0 L1 1 L1 0 L0 1 Z"/>', {}, r"crosses or touches itself near \(0, 0\); it must not"),
    ('<path d="M0 0 C 3 3 -2 3 1 0 Z"/>', {}, "crosses or touches itself"),
    ('<path d="M0 0h4v4h-4z M3 3h4v4h-4z"/>', {}, "outlines of <path> in drawing.svg cross or touch each other near"),
    ('<path d="M0 0h1v1h-1z M3 3h1v1h-1z"/>', {}, "2 separate pieces; a domain is one piece"),
    ('<path d="M0 0 L1 1 Z"/>', {}, "encloses no area"),
    ('<path d=""/>', {}, "draws nothing"),
    ('<path d="M1 1 Z"/>', {}, "does not resolve|draws nothing"),
    ('<path d="M0 0 L1 0 garbage Z"/>', {}, "'g"),
    ('<path d="M0 0 L1 0 L1 nan Z"/>', {}, "'n"),
    ('<path d="M0 0 L1 0 L1 Z"/>', {}, "lacks numbers"),
    ('<path d="M0 0 h Z"/>', {}, "lacks numbers"),
    ('<path d="L1 0 L1 1 Z"/>', {}, "a path starts with M or m, found 'L1 0"),
    ('<path d="M0 0 H 1e999 V 1 Z"/>', {}, "not a finite number"),
    ('<path d="M0 0 H 1e200 V 1e200 Z"/>', {}, "coordinates up to 1e.200"),
    ('<path d="M1e9 0 h1 v1 Z"/>', {}, "double precision does not resolve that"),
    ('<polygon points="0,0 1,0 1"/>', {}, "5 coordinates, an odd number"),
    ('<polygon points="0,0 1,x 1,1"/>', {}, "'x' is not part of"),
    ('<circle r="-1"/>', {}, "needs a positive r, found -1"),
    ('<circle/>', {}, "needs a positive r, found none"),
    ('<circle r="10%"/>', {}, "r is '10%'; a number in units of the drawing"),
    ('<rect width="1"/>', {}, "needs a positive height"),
    ('<circle r="1" transform="turn(20)"/>', {}, r"transform 'turn\(20\)' is not understood; allowed: matrix, rotate"),
    ('<circle r="1" transform="matrix(1 2 3)"/>', {}, "is not understood"),
    ('<circle r="1" transform="scale(0)"/>', {}, "does not resolve|no area"),
    ('<circle r="1" transform="scale(1 0)"/>', {}, "itself|no area"),
    ('<circle r="1" style="transform: scale(2)"/>', {}, "a transform inside a style is not read"),
    ('<circle r="1"/>', {"segments": {"a": [2, 9]}}, r"'a': commands \[2, 9\] are out of range; .* commands 0 to 4"),
    ('<circle r="1"/>', {"segments": {"a": [0, 1], "b": [1, 2]}}, "'a' and 'b' both claim command 1"),
    ('<circle r="1"/>', {"segments": {"a": [4, 4]}}, "its commands draw nothing of the boundary"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "keys", "message"), DRAWINGS)
def test_bad_drawing(draw: Draw, body: str, keys: dict[str, Any], message: str) -> None:
    with pytest.raises(GeometryError, match=message) as caught:
        draw(body, **keys)
    assert "\n" not in str(caught.value)


KEYS = [
    ({"width": 0}, "greater than 0"),
    ({"width": -2}, "greater than 0"),
    ({"wdith": 2}, "Extra inputs"),
    ({"segments": {"rest": [0, 1]}}, "a segment cannot be called 'rest'"),
    ({"segments": {"a": [0]}}, "Field required|at least 2"),
]


@pytest.mark.parametrize(("keys", "message"), KEYS)
def test_bad_keys(draw: Draw, keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        draw('<circle r="1"/>', **keys)


# --- files that should do harm ---------------------------------------------------------------------------------------


def test_scripts_are_not_run_and_nothing_is_fetched(draw: Draw, tmp_path: Path) -> None:
    body = (
        '<script href="https://example.invalid/x.js">throw 1</script><image href="https://example.invalid/x.png"/>'
        '<circle r="1" onload="steal()"/>'
    )
    assert draw(body).measure == pytest.approx(3.141592653589793)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_are_refused(tmp_path: Path, encoding: str) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("1", encoding="utf-8")
    text = (
        f'<?xml version="1.0" encoding="{encoding}"?><!DOCTYPE svg [<!ENTITY r SYSTEM "{secret.as_uri()}">]>'
        '<svg xmlns="http://www.w3.org/2000/svg"><circle r="&r;"/></svg>'
    )
    (tmp_path / "evil.svg").write_bytes(text.encode(encoding))
    with pytest.raises(GeometryError, match="declares XML entities, which are not read"):
        problem_on({"kind": "svg", "path": str(tmp_path / "evil.svg")})


def problem_on(domain: dict[str, Any]) -> Region:
    field = {"initial": 0, "boundary": [{"kind": "neumann"}], "equation": [{"block": "diffusion"}]}
    spec = {"domain": domain, "basis": {"kind": "fourier", "K": 6}, "fields": {"u": field}, "time": {"end": 1}}
    problem = load_problem(spec)
    return problem.build(problem.domain)


@pytest.mark.parametrize("kind", ["svg", "map"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot read the .*missing: No such file"),
        (b"", "is empty"),
        (b"\xff\xfe\x00", "is not"),
        (b"hello", "is not"),
    ],
)
def test_bad_files(tmp_path: Path, kind: str, content: bytes | None, message: str) -> None:
    """Through a problem file: never an error that blames the pack."""
    file = tmp_path / "missing"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(GlegError, match=re.compile(message)) as caught:
        problem_on({"kind": kind, "path": str(file)})
    assert isinstance(caught.value, GeometryError)


def test_a_folder_is_not_a_drawing(tmp_path: Path) -> None:
    with pytest.raises(GeometryError, match="cannot read the drawing"):
        problem_on({"kind": "svg", "path": str(tmp_path)})


# --- maps -----------------------------------------------------------------------------------------------------------

SQUARE = [[6, 46], [7, 46], [7, 47], [6, 47], [6, 46]]
ISLAND = [[6.2, 46.2], [6.4, 46.2], [6.4, 46.4], [6.2, 46.2]]


def polygon(*rings: Any) -> dict[str, Any]:
    return {"type": "Polygon", "coordinates": list(rings)}


def lakes(*names: str) -> dict[str, Any]:
    features = [{"type": "Feature", "properties": {"name": n, "depth": 3}, "geometry": polygon(SQUARE)} for n in names]
    return {"type": "FeatureCollection", "features": features}


TWO = {"type": "MultiPolygon", "coordinates": [[SQUARE], [ISLAND]]}
MAPS: list[tuple[Any, dict[str, Any], str]] = [
    ("[1, 2]", {}, "map.geojson holds no GeoJSON object; allowed: Feature"),
    ({"type": "Topology"}, {}, "holds Topology; allowed"),
    ({"type": "FeatureCollection", "features": []}, {}, "has no features"),
    (lakes("Thun", "Brienz"), {}, "2 features; choose one by feature: .* Names: Brienz, Thun"),
    (lakes("Thun", "Brienz"), {"feature": {"name": "Thum"}}, r"0 features with \{name: Thum\}.*Values of 'name': Brienz, Thun.*'Thun'"),
    (lakes("Thun", "Brienz"), {"feature": {"nmae": "Thun"}}, r"No feature has 'nmae'; properties: depth, name\. Did you mean 'name'"),
    (lakes("Thun", "Brienz"), {"feature": {"depth": 3}}, "2 features with {depth: 3}, one is needed"),
    (lakes("Thun"), {"feature": 1}, "no feature 1; features are 0 to 0"),
    ({"type": "Feature", "properties": None, "geometry": None}, {}, "feature without geometry"),
    ({"type": "Feature", "geometry": {"type": "LineString", "coordinates": SQUARE}}, {}, "is a LineString; a Polygon or Multi"),
    (TWO, {}, r"is a MultiPolygon; choose one by part.* part 0 with 4 vertices, 98.0% of the area; part 1 with 3"),
    (TWO, {"part": 2}, "has no part 2: part 0 with 4"),
    (polygon(SQUARE), {"part": 1}, "has no part 1"),
    (polygon(), {}, "without rings"),
    (polygon([]), {}, "must be a list of"),
    (polygon([[1, "a"], [2, 3]]), {}, "must be a list of"),
    (polygon(5), {}, "must be a list of"),
    (polygon([[6], [7], [6]]), {}, "must be a list of"),
    (polygon(SQUARE[:-1]), {}, r"not closed: it starts at \[6, 46\] and ends at \[6, 47\]; repeat the first"),
    (polygon([SQUARE[0], SQUARE[1], SQUARE[0]]), {}, "a ring of 3 positions; at least 4"),
    (polygon([[6, 46], [7, 46], [187, 47], [6, 46]]), {}, "has the longitude 187, allowed: −180 to 180"),
    (polygon([[6, 46], [7, 46], [7, 97], [6, 46]]), {}, "has the latitude 97"),
    (polygon([[2.5e6, 1.2e6], [2.6e6, 1.2e6], [2.6e6, 1.3e6], [2.5e6, 1.2e6]]), {}, "metres must be converted"),
    ('{"type": "Polygon", "coordinates": [[[6, 46], [7, NaN], [7, 47], [6, 46]]]}', {}, "not a finite number"),
    (polygon([[6, 46], [7, 47], [7, 46], [6, 47], [6, 46]]), {}, "crosses or touches itself"),
    (polygon([[6, 46], [6, 46], [6, 46], [6, 46]]), {}, "does not resolve|no area"),
    (polygon([[6, 46], [7, 46], [6, 46], [7, 46], [6, 46]]), {}, "no area|itself"),
    (polygon(SQUARE, [[x + 3, y] for x, y in ISLAND]), {}, "2 separate pieces|first ring"),
    (polygon(SQUARE, [[x - 0.3, y] for x, y in ISLAND]), {}, "cross or touch each other"),
    (polygon([[-60, -40], [60, -40], [60, 40], [-60, 40], [-60, -40]]), {}, "at most 3000 km"),
    (polygon([[0, 80], [90, 80], [180, 80], [-90, 80], [0, 80]]), {}, "goes round a pole"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "keys", "message"), MAPS)
def test_bad_map(chart: Chart, content: Any, keys: dict[str, Any], message: str) -> None:
    with pytest.raises(GeometryError, match=message) as caught:
        chart(content, **keys)
    assert "\n" not in str(caught.value)


def test_bad_centre(chart: Chart) -> None:
    with pytest.raises(ValidationError, match=r"\[longitude, latitude\] in degrees is needed"):
        chart(polygon(SQUARE), centre=[6.5, 146.5])
