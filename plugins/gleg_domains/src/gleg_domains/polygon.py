"""Polygons with holes and named groups of edges, from vertices or from a GeoJSON file."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from pydantic import Field

from gleg_core.contracts.domain import Quadrature
from gleg_core.errors import GeometryError, listing
from gleg_core.spec.params import FilePath, Number, PackParams
from gleg_domains.arcs import polyline, signed_area
from gleg_domains.corners import StraightSided
from gleg_domains.loops import chained, checked
from gleg_domains.planar import ArcSegment

Array = np.ndarray
EdgeRange = tuple[int, int]
EdgeRanges = EdgeRange | tuple[EdgeRange, ...]
SOME_EDGES, MANY_EDGES = 12, 60
"""With fewer edges only the slab rule is tried, with more only the quadtree, in between both."""


class PolygonParams(PackParams):
    vertices: tuple[tuple[Number, Number], ...] = Field(description="corners [x, y] in order, either orientation")
    holes: tuple[tuple[tuple[Number, Number], ...], ...] = Field((), description="corner lists of holes")
    segments: Mapping[str, EdgeRanges] = Field(
        default_factory=dict,
        description="name: [first, last] edge, both included (or a list of such ranges); edge i joins vertex i to i + 1. "
        "Edges not named belong to 'boundary'",
    )


class PolygonDomain(StraightSided):
    """A polygon minus holes; segments as named, then boundary, hole0, hole1, …"""

    def __init__(self, vertices: Array, holes: Sequence[Array], names: Mapping[str, Any], what: str = "polygon"):
        outer = _without_repeats(vertices, f"the {what}", bool(names))
        inner = [_without_repeats(h, f"hole {i} of the {what}") for i, h in enumerate(holes)]
        edges = polyline(outer)
        shell, *loops = checked([edges, *map(polyline, inner)], what)
        groups = edge_groups(names, len(edges), what)
        # Where `shell` runs backwards, give edge i back its own index.
        own = shell[::-1] if signed_area(edges) < 0 else shell
        segments = [ArcSegment(name, chained([own[i] for i in members])) for name, members in groups.items()]
        segments += [ArcSegment(f"hole{i}", loop) for i, loop in enumerate(loops)]
        self._shape = shapely.Polygon(outer, inner)
        shapely.prepare(self._shape)
        super().__init__(segments, [shell, *loops])

    def contains(self, points: Array) -> Array:
        return shapely.contains_xy(self._shape, np.atleast_2d(points))

    @property
    def measure(self) -> float:
        return float(self._shape.area)

    def _rule(self, wavenumber: float, tolerance: float) -> Quadrature:
        edges = len(self.arcs)
        if edges < SOME_EDGES:
            return super()._rule(wavenumber, tolerance)
        from gleg_domains.quadtree import quadtree_rule
        from gleg_domains.slabs import LINES_ARE_WORTH

        cells = quadtree_rule(self._shape, wavenumber, tolerance)
        if edges > MANY_EDGES:
            return cells
        lines = super()._rule(wavenumber, tolerance)
        return cells if len(cells.weights) * LINES_ARE_WORTH < len(lines.weights) else lines


class Polygon(PolygonDomain):
    """A polygon from its vertices."""

    def __init__(self, params: PolygonParams):
        holes = [np.array(h, dtype=float) for h in params.holes]
        super().__init__(np.array(params.vertices, dtype=float).reshape(-1, 2), holes, params.segments)


def _without_repeats(vertices: Array, what: str, edges_are_named: bool = False) -> Array:
    """Vertices without a repeated closing corner and without edges of length zero."""
    vertices = vertices.reshape(-1, 2)
    if not np.isfinite(vertices).all():
        raise GeometryError(f"{what} has a corner that is not finite")
    if len(vertices) > 1 and (vertices[0] == vertices[-1]).all():
        vertices = vertices[:-1]
    same = (vertices == np.roll(vertices, -1, axis=0)).all(axis=1) & (len(vertices) > 1)
    if same.any() and edges_are_named:
        raise GeometryError(f"{what} repeats corner {int(np.argmax(same))}; remove it, edge numbers would be ambiguous")
    vertices = vertices[~same]
    if len(vertices) < 3:
        raise GeometryError(f"{what} has {len(vertices)} different corners; at least 3 are needed")
    return vertices


def edge_groups(names: Mapping[str, Any], count: int, what: str = "polygon") -> dict[str, list[int]]:
    """Edge indices of every segment; edges not named make up ``boundary``."""
    owner: dict[int, str] = {}
    groups: dict[str, list[int]] = {}
    for name, value in names.items():
        ranges = [value] if value and not isinstance(value[0], (tuple, list)) else value
        for first, last in ranges:
            if not 0 <= first <= last < count:
                raise GeometryError(
                    f"segment '{name}': edges [{first}, {last}] are out of range; the {what} has edges 0 to {count - 1}"
                    " and a range is [first, last] with first ≤ last"
                )
            for edge in range(first, last + 1):
                if edge in owner:
                    raise GeometryError(f"segments '{owner[edge]}' and '{name}' both claim edge {edge} of the {what}")
                owner[edge] = name
                groups.setdefault(name, []).append(edge)
    rest = [i for i in range(count) if i not in owner]
    if rest:
        groups["boundary"] = groups.get("boundary", []) + rest
    return groups


# --- GeoJSON -----------------------------------------------------------------------------------------------------


class GeoJSONParams(PackParams):
    path: FilePath = Field(description="GeoJSON file with one polygon; relative to the problem file")
    segments: Mapping[str, EdgeRanges] = Field(default_factory=dict, description="as for a polygon")


class GeoJSON(PolygonDomain):
    """A polygon from a GeoJSON file: a Polygon, or a Feature or FeatureCollection that holds exactly one."""

    def __init__(self, params: GeoJSONParams):
        file = Path(params.path)
        shell, *holes = read_polygon(file)
        super().__init__(shell, holes, params.segments, f"polygon in {file.name}")


def read_polygon(file: Path) -> list[Array]:
    """The rings (outer first) of the only polygon in a GeoJSON file."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise GeometryError(f"cannot read the GeoJSON file {file}: {error.strerror or error}") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise GeometryError(f"{file.name} is not valid JSON: {error}") from None
    polygons = list(_geometries(content, file.name))
    if len(polygons) != 1:
        raise GeometryError(f"{file.name} holds {len(polygons)} polygons; exactly one is needed")
    try:
        rings = [np.array([[float(v) for v in p[:2]] for p in ring], dtype=float) for ring in polygons[0]]
    except (TypeError, ValueError) as error:
        raise GeometryError(f"{file.name}: coordinates must be lists of [x, y] pairs ({error})") from None
    if not rings or any(r.ndim != 2 or r.shape[1:] != (2,) for r in rings):
        raise GeometryError(f"{file.name}: a Polygon needs at least one ring of [x, y] pairs")
    return rings


def _geometries(node: Any, name: str) -> list[Any]:
    kind = node.get("type") if isinstance(node, Mapping) else None
    match kind:
        case "FeatureCollection":
            return [g for feature in node.get("features") or [] for g in _geometries(feature, name)]
        case "Feature":
            return _geometries(node.get("geometry"), name)
        case "GeometryCollection":
            return [g for part in node.get("geometries") or [] for g in _geometries(part, name)]
        case "Polygon":
            return [node.get("coordinates") or []]
        case "MultiPolygon":
            parts = node.get("coordinates") or []
            if len(parts) == 1:
                return [parts[0]]
            raise GeometryError(f"{name} holds a MultiPolygon of {len(parts)} parts; a single Polygon is needed")
    allowed = listing(["Polygon", "Feature", "FeatureCollection"])
    raise GeometryError(f"{name} holds {kind or 'no GeoJSON object'}; allowed: {allowed} with one polygon")
