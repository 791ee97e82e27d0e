"""Checks on closed loops of arcs: simple, correctly nested, oriented with Ω on the left."""

from collections.abc import Sequence

import numpy as np
import shapely
from shapely.validation import explain_validity

from gleg_core.errors import GeometryError
from gleg_domains.arcs import Arc, signed_area

Loop = list[Arc]


def oriented(loop: Sequence[Arc], counter_clockwise: bool) -> Loop:
    """The loop, turned round if need be."""
    if (signed_area(loop) > 0) == counter_clockwise:
        return list(loop)
    return [arc.reversed() for arc in reversed(loop)]


def chained(arcs: Sequence[Arc]) -> Loop:
    """Arcs in the order in which they join, each chain from its own beginning."""
    starts, stops = (shapely.points(np.concatenate([arc.at(end) for arc in arcs])) for end in (0.0, 1.0))
    slack = 1e-9 * max(arc.length for arc in arcs)
    joined = shapely.STRtree(starts).query_nearest(stops, max_distance=slack, all_matches=False)
    follows = dict(joined.T.tolist())
    order: dict[int, Arc] = {}
    for first in [*sorted(set(range(len(arcs))) - set(follows.values())), *range(len(arcs))]:
        i: int | None = first
        while i is not None and i not in order:
            order[i] = arcs[i]
            i = follows.get(i)
    return list(order.values())


def checked(outer: Sequence[Arc], holes: Sequence[Sequence[Arc]] = (), what: str = "curve") -> tuple[Loop, list[Loop]]:
    """Outer loop counter-clockwise and holes clockwise, or a GeometryError that says what is wrong."""
    shell = _simple(outer, f"the {what}")
    cut_out = [_simple(hole, f"hole {i} of the {what}") for i, hole in enumerate(holes)]
    for i, hole in enumerate(cut_out):
        if not shell.contains(hole):
            where = "crosses or touches" if shell.intersects(hole) else "lies outside"
            raise GeometryError(f"hole {i} of the {what} {where} the outer boundary; holes must lie strictly inside it")
        for j in range(i):
            if hole.intersects(cut_out[j]):
                raise GeometryError(f"holes {j} and {i} of the {what} overlap or touch; holes must be separate")
    return oriented(outer, True), [oriented(hole, False) for hole in holes]


def _simple(loop: Sequence[Arc], what: str) -> shapely.Polygon:
    """An inscribed polygon, which must not cross itself."""
    counts = [1 if arc.straight else max(16, 1500 // len(loop)) for arc in loop]
    points = np.concatenate([arc.at(np.arange(n) / n) for arc, n in zip(loop, counts, strict=True)])
    if not np.isfinite(points).all():
        raise GeometryError(f"{what} has a point that is not finite: {points[~np.isfinite(points).all(axis=1)][0]}")
    ring = shapely.Polygon(points)
    if not ring.is_valid:
        place = "".join(explain_validity(ring).partition("[")[1:])
        raise GeometryError(f"{what} crosses or touches itself near {place}; it must be a simple closed curve")
    if ring.area <= 1e-12 * ring.length**2:
        raise GeometryError(f"{what} encloses no area")
    return ring
