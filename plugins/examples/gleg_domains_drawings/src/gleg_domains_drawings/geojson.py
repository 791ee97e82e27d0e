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
    geometry = feature.get("geometry")
    geometry = geometry if isinstance(geometry, Mapping) else {}
    kind = geometry.get("type")
    if kind not in ("Polygon", "MultiPolygon"):
        raise GeometryError(f"{what} is a {kind or 'feature without geometry'}; a Polygon or MultiPolygon is needed")
    coordinates = geometry.get("coordinates")
    polygons = [coordinates] if kind == "Polygon" else coordinates
    if not isinstance(polygons, list) or not polygons:
        raise GeometryError(f"{what} has no coordinates")
    parts = [_rings(polygon, what) for polygon in polygons]
    return parts[_part(parts, part, what)], what


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


def _properties(feature: Mapping[str, Any]) -> Mapping[str, Any]:
    properties = feature.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _selected(features: list[Mapping[str, Any]], choice: Choice, file: str) -> tuple[Mapping[str, Any], str]:
    if isinstance(choice, int):
        if not 0 <= choice < len(features):
            raise GeometryError(f"{file} has no feature {choice}; features are 0 to {len(features) - 1}")
        return features[choice], f"feature {choice} of {file}"
    if choice is None:
        if len(features) > 1:
            names = [str(_properties(f).get("name", f"index {i}")) for i, f in enumerate(features)]
            raise GeometryError(
                f"{file} has {len(features)} features; choose one by feature: {{name: …}} or its index. Names: {listing(names)}"
            )
        return features[0], f"the feature of {file}"
    found = [f for f in features if all(_properties(f).get(key) == value for key, value in choice.items())]
    if len(found) == 1:
        return found[0], f"feature {', '.join(map(str, choice.values()))} of {file}"
    wanted = ", ".join(f"{key}: {value}" for key, value in choice.items())
    hints = []
    for key, value in choice.items():
        present = {str(_properties(f)[key]) for f in features if key in _properties(f)}
        known = {key for f in features for key in _properties(f)}
        if not present:
            hints.append(f"No feature has '{key}'; properties: {listing(known)}.{did_you_mean(key, known)}")
        elif not found:
            hints.append(f"Values of '{key}': {listing(present)}.{did_you_mean(str(value), present)}")
    raise GeometryError(
        f"{file} has {len(found)} features with {{{wanted}}}, one is needed. {' '.join(hints)}".rstrip()
    )


def _rings(polygon: Any, what: str) -> list[Array]:
    if not isinstance(polygon, list) or not polygon:
        raise GeometryError(f"{what} has a polygon without rings")
    return [_ring(ring, what) for ring in polygon]


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
    areas = [_square_degrees(rings) for rings in parts]
    if part == "largest":
        return int(np.argmax(areas))
    sizes = [
        f"part {i} with {len(rings[0]) - 1} vertices, {areas[i] / sum(areas):.1%} of the area"
        for i, rings in enumerate(parts)
    ]
    shown = "; ".join(sizes[:8]) + ("; …" if len(sizes) > 8 else "")
    if part is None:
        raise GeometryError(f"{what} is a MultiPolygon; choose one by part: largest or part: index. {shown}")
    if not 0 <= part < len(parts):
        raise GeometryError(f"{what} has no part {part}: {shown}")
    return part


def _square_degrees(rings: list[Array]) -> float:
    """Area for comparison, degrees of longitude shrunk by the cosine of the latitude."""
    longitude = np.unwrap(rings[0][:, 0], period=360.0) * np.cos(np.deg2rad(rings[0][:, 1].mean()))
    return float(shapely.Polygon(np.column_stack([longitude, rings[0][:, 1]])).area)
