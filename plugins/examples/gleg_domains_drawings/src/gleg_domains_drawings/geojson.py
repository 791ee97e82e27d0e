"""GeoJSON files: the rings of one polygon, checked."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import shapely

from gleg_core.errors import GeometryError, did_you_mean, listing

Array = np.ndarray
Choice = int | Mapping[str, str | bool | int | float] | None
Part = int | Literal["largest"] | None


def read_rings(file: Path, choice: Choice, part: Part) -> tuple[list[Array], str]:
    """Closed rings (n + 1, 2) in degrees, outer first, and what to call them in a message."""
    feature, what = _selected(_features(_read(file), file.name), choice, file.name)
    geometry = _mapping(feature, "geometry")
    kind = geometry.get("type")
    if kind not in ("Polygon", "MultiPolygon"):
        raise GeometryError(f"{what} is a {kind or 'feature without geometry'}; a Polygon or MultiPolygon is needed")
    coordinates = geometry.get("coordinates")
    polygons = [coordinates] if kind == "Polygon" else coordinates
    if not isinstance(polygons, list) or not polygons:
        raise GeometryError(f"{what} has no coordinates")
    if not all(isinstance(polygon, list) and polygon for polygon in polygons):
        raise GeometryError(f"{what} has a polygon without rings")
    parts = [[_ring(ring, what) for ring in polygon] for polygon in polygons]
    return parts[_part(parts, part, what)], what


def in_degrees(ring: Array) -> shapely.Polygon:
    """The ring in longitude and latitude, across the date line if need be."""
    return shapely.Polygon(np.column_stack([np.unwrap(ring[:, 0], period=360.0), ring[:, 1]]))


def _read(file: Path) -> Any:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise GeometryError(f"cannot read the map {file}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise GeometryError(f"{file.name} is not GeoJSON: it is not UTF-8 text ({error.reason})") from None
    if not text.strip():
        raise GeometryError(f"the map {file.name} is empty")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise GeometryError(f"{file.name} is not GeoJSON: {error}") from None


def _features(content: Any, file: str) -> list[Mapping[str, Any]]:
    kind = content.get("type") if isinstance(content, Mapping) else None
    if kind == "FeatureCollection" and isinstance(content.get("features"), list):
        features = [f for f in content["features"] if isinstance(f, Mapping)]
    elif kind == "Feature":
        features = [content]
    elif kind in ("Polygon", "MultiPolygon"):
        features = [{"geometry": content}]
    else:
        allowed = listing(["Polygon", "MultiPolygon", "Feature", "FeatureCollection"])
        raise GeometryError(f"{file} holds {kind or 'no GeoJSON object'}; allowed: {allowed}")
    if not features:
        raise GeometryError(f"{file} has no features")
    return features


def _mapping(feature: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = feature.get(key)
    return value if isinstance(value, Mapping) else {}


def _selected(features: list[Mapping[str, Any]], choice: Choice, file: str) -> tuple[Mapping[str, Any], str]:
    if isinstance(choice, int):
        if not 0 <= choice < len(features):
            raise GeometryError(f"{file} has no feature {choice}; features are 0 to {len(features) - 1}")
        return features[choice], f"feature {choice} of {file}"
    properties = [_mapping(f, "properties") for f in features]
    if choice is None:
        if len(features) > 1:
            names = [str(p.get("name", f"index {i}")) for i, p in enumerate(properties)]
            raise GeometryError(
                f"{file} has {len(features)} features; choose one by feature: {{name: …}} or its index. Names: {listing(names)}"
            )
        return features[0], f"the feature of {file}"
    found = [i for i, p in enumerate(properties) if all(p.get(key) == value for key, value in choice.items())]
    if len(found) == 1:
        return features[found[0]], f"feature {', '.join(map(str, choice.values()))} of {file}"
    wanted = ", ".join(f"{key}: {value}" for key, value in choice.items())
    known = {key for p in properties for key in p}
    hints = []
    for key, value in choice.items():
        present = {str(p[key]) for p in properties if key in p}
        if not present:
            hints.append(f"No feature has '{key}'; properties: {listing(known)}.{did_you_mean(key, known)}")
        elif not found:
            hints.append(f"Values of '{key}': {listing(present)}.{did_you_mean(str(value), present)}")
    raise GeometryError(
        f"{file} has {len(found)} features with {{{wanted}}}, one is needed. {' '.join(hints)}".rstrip()
    )


def _ring(ring: Any, what: str) -> Array:
    try:
        points = np.array([[float(v) for v in position[:2]] for position in ring], dtype=float)
    except (TypeError, ValueError, KeyError, OverflowError):
        points = np.zeros((0, 2))
    if points.ndim != 2 or points.shape[1:] != (2,) or not len(points):
        raise GeometryError(f"{what}: a ring must be a list of [longitude, latitude]")
    if not np.isfinite(points).all():
        raise GeometryError(f"{what} has a coordinate that is not a finite number")
    for axis, name, most in ((0, "longitude", 180.0), (1, "latitude", 90.0)):
        worst = float(points[np.argmax(np.abs(points[:, axis])), axis])
        if abs(worst) > most:
            raise GeometryError(
                f"{what} has the {name} {worst:g}, allowed: −{most:g} to {most:g} degrees. Coordinates in metres must be "
                "converted to longitude and latitude first"
            )
    if (points[0] != points[-1]).any():
        a, b = (f"[{x:g}, {y:g}]" for x, y in (points[0], points[-1]))
        raise GeometryError(
            f"{what} has a ring that is not closed: it starts at {a} and ends at {b}; repeat the first position"
        )
    if len(points) < 4:
        raise GeometryError(
            f"{what} has a ring of {len(points)} positions; at least 4 are needed, the last equal to the first"
        )
    return points


def _part(parts: list[list[Array]], part: Part, what: str) -> int:
    if len(parts) == 1 and part is None:
        return 0
    # Areas for comparison: degrees of longitude shrink by the cosine of the latitude.
    areas = [in_degrees(outer).area * np.cos(np.deg2rad(outer[:, 1].mean())) for outer, *_ in parts]
    if part == "largest":
        return int(np.argmax(areas))
    shares = [f"{area / sum(areas):.1%} of the area" for area in areas]
    sizes = [f"part {i} with {len(parts[i][0]) - 1} vertices, {share}" for i, share in enumerate(shares)]
    shown = "; ".join(sizes[:8]) + ("; …" if len(sizes) > 8 else "")
    if part is None:
        raise GeometryError(f"{what} is a MultiPolygon; choose one by part: largest or part: index. {shown}")
    if not 0 <= part < len(parts):
        raise GeometryError(f"{what} has no part {part}: {shown}")
    return part
