"""Checks on closed loops of arcs: simple, correctly nested, oriented with Ω on the left."""

from collections.abc import Sequence

import numpy as np
import shapely
from shapely.validation import explain_validity

from gleg_core.errors import GeometryError
from gleg_domains.arcs import Arc, signed_area

Array = np.ndarray
Loop = list[Arc]


def outline(loop: Sequence[Arc], n: int = 1500) -> Array:
    """Vertices (m, 2) of an inscribed polygon."""
    rows = [arc.at(np.arange(k := 1 if arc.straight else max(16, n // len(loop))) / k) for arc in loop]
    return np.concatenate(rows)


def oriented(loop: Sequence[Arc], counter_clockwise: bool) -> Loop:
    """The loop, turned round if need be."""
    if (signed_area(loop) > 0) == counter_clockwise:
        return list(loop)
    return [arc.reversed() for arc in reversed(loop)]


def checked(outer: Sequence[Arc], holes: Sequence[Sequence[Arc]] = (), what: str = "curve") -> tuple[Loop, list[Loop]]:
    """Outer loop counter-clockwise and holes clockwise, or a GeometryError that says what is wrong."""
    rings = [_simple_ring(outer, f"the {what}")]
    rings += [_simple_ring(hole, f"hole {i} of the {what}") for i, hole in enumerate(holes)]
    shell = shapely.Polygon(rings[0])
    for i, ring in enumerate(rings[1:]):
        if not shell.contains(shapely.Polygon(ring)):
            where = "lies outside" if not shell.intersects(shapely.Polygon(ring)) else "crosses or touches"
            raise GeometryError(f"hole {i} of the {what} {where} the outer boundary; holes must lie strictly inside it")
        for j in range(i):
            if shapely.Polygon(ring).intersects(shapely.Polygon(rings[1 + j])):
                raise GeometryError(f"holes {j} and {i} of the {what} overlap or touch; holes must be separate")
    return oriented(outer, True), [oriented(hole, False) for hole in holes]


def _simple_ring(loop: Sequence[Arc], what: str) -> Array:
    points = outline(loop)
    if not np.isfinite(points).all():
        raise GeometryError(f"{what} has a point that is not finite: {points[~np.isfinite(points).all(axis=1)][0]}")
    ring = shapely.Polygon(points)
    if not ring.is_valid:
        reason = explain_validity(ring)
        place = reason[reason.find("[") :] if "[" in reason else ""
        raise GeometryError(f"{what} crosses or touches itself near {place}; it must be a simple closed curve")
    if ring.area <= 1e-12 * ring.length**2:
        raise GeometryError(f"{what} encloses no area")
    return points
