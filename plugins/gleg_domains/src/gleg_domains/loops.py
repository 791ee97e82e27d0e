"""Checks on closed loops of arcs: simple, correctly nested, oriented with Ω on the left."""

from collections.abc import Sequence

import numpy as np
import shapely
from shapely.validation import explain_validity

from gleg_core.errors import GeometryError
from gleg_domains.arcs import Arc, signed_area

Loop = list[Arc]


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


def checked(loops: Sequence[Loop], what: str) -> list[Loop]:
    """The first loop counter-clockwise, the others, holes in it, clockwise; or a GeometryError that says what is wrong."""
    names = [f"the {what}", *(f"hole {i} of the {what}" for i in range(len(loops) - 1))]
    shell, *holes = map(_simple, loops, names)
    for i, hole in enumerate(holes):
        if not shell.contains(hole):
            where = "crosses or touches" if shell.intersects(hole) else "lies outside"
            raise GeometryError(f"hole {i} of the {what} {where} the outer boundary; holes must lie strictly inside it")
        for j in range(i):
            if hole.intersects(holes[j]):
                raise GeometryError(f"holes {j} and {i} of the {what} overlap or touch; holes must be separate")
    return [
        loop if (signed_area(loop) > 0) == (i == 0) else [arc.reversed() for arc in reversed(loop)]
        for i, loop in enumerate(loops)
    ]


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
