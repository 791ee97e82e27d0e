"""A plane domain bounded by loops of arcs: checks, orientation, named segments, inside test, quadrature."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import combinations

import numpy as np
import shapely
from shapely.validation import explain_validity

from gleg_core.contracts.domain import ROUNDING, BoundarySample, Curve, Domain, Quadrature, Segment
from gleg_core.errors import GeometryError
from gleg_domains_drawings.arcs import Arc, gauss
from gleg_domains_drawings.branches import Branch, Loop, branches
from gleg_domains_drawings.slabs import slab_rule

Array = np.ndarray
MOST_ARCS = 4000


class ArcSegment(Segment):
    """A named chain of arcs with Ω on the left of γ'; Gauss nodes in the parameter of every arc."""

    def __init__(self, name: str, arcs: Sequence[Arc]):
        self.name = name
        self.arcs = tuple(arcs)

    @cached_property
    def length(self) -> float:  # type: ignore[override]
        return float(sum(arc.length for arc in self.arcs))

    @property
    def curves(self) -> tuple[Curve, ...]:
        return tuple(arc.curve for arc in self.arcs)

    def sample(self, n: int) -> BoundarySample:
        rules = []
        for arc in self.arcs:
            t, w = gauss(max(2, round(n * arc.length / self.length)))
            velocity = arc.velocity(t)
            speed = np.linalg.norm(velocity, axis=1)
            rules.append((arc.point(t), velocity[:, ::-1] * [1.0, -1.0] / speed[:, None], w * speed))
        return BoundarySample(*(np.concatenate(parts) for parts in zip(*rules, strict=True)))

    def outline(self, n: int) -> Array:
        rows: list[Array] = []
        for arc in self.arcs:
            count = 2 if arc.straight else max(9, round(n * arc.length / self.length))
            points = arc.point(np.linspace(-1, 1, count))
            if rows and np.linalg.norm(rows[-1][-1] - points[0]) > 1e-9 * self.length:
                rows.append(np.full((1, 2), np.nan))
            rows.append(points)
        return np.concatenate(rows)


class Region(Domain):
    """The inside of loops[0] without the insides of the other loops, all with Ω on their left."""

    dim = 2
    segments: Sequence[ArcSegment] = ()

    def __init__(self, loops: Sequence[Loop], segments: Mapping[str, Sequence[Arc]]):
        self.loops = loops
        self.segments = [ArcSegment(name, arcs) for name, arcs in segments.items()]

    @cached_property
    def _branches(self) -> list[Branch]:
        return branches(self.loops)[0]

    @property
    def bounds(self) -> Array:
        return bounding_box(self.loops)

    def contains(self, points: Array) -> Array:
        """Points with an odd number of branches on their right."""
        x, y = np.atleast_2d(points).T
        odd = np.zeros(len(x), dtype=bool)
        for branch in self._branches:
            rows = np.flatnonzero((y >= branch.low) & (y < branch.high))
            odd[rows] ^= branch.x_at(y[rows]) > x[rows]
        return odd

    def quadrature(self, wavenumber: float, tolerance: float = ROUNDING) -> Quadrature:
        return slab_rule(self.loops, wavenumber, self.bounds, tolerance * self.measure)

    @cached_property
    def measure(self) -> float:
        return sum(map(signed_area, self.loops))


def signed_area(loop: Loop) -> float:
    return sum(arc.swept_area for arc in loop)


def bounding_box(loops: Sequence[Loop]) -> Array:
    """Least and greatest x and y, shape (2, 2)."""
    points = np.concatenate(
        [
            arc.point(np.concatenate([[-1.0, 1.0], arc.turning_points(0), arc.turning_points(1)]))
            for loop in loops
            for arc in loop
        ]
    )
    return np.column_stack([points.min(axis=0), points.max(axis=0)])


# --- from loops as they were drawn to the boundary of one domain ---------------------------------------------------


def filled(loops: Sequence[Loop], even_odd: bool, what: str) -> list[Loop]:
    """The boundary of the filled region, where the winding number is odd (``even_odd``) or not zero: outer loop first, then holes,
    all with the region on their left."""
    count = sum(map(len, loops))
    if count > MOST_ARCS:
        raise GeometryError(f"{what} has {count} edges and curves; at most {MOST_ARCS} are possible. Simplify it")
    rings = [_simple(loop, what) for loop in loops]
    for ring, other in combinations(rings, 2):
        if not (meet := ring.exterior.intersection(other.exterior)).is_empty:
            x, y = meet.representative_point().coords[0]
            raise GeometryError(f"outlines of {what} cross or touch each other near ({x:.6g}, {y:.6g}); they must not")
    turns = [1 if signed_area(loop) > 0 else -1 for loop in loops]
    outer: list[Loop] = []
    holes: list[Loop] = []
    for loop, ring, turn in zip(loops, rings, turns, strict=True):
        around = sum(t for t, other in zip(turns, rings, strict=True) if other is not ring and other.contains(ring))
        outside, inside = (bool(winding % 2 if even_odd else winding) for winding in (around, around + turn))
        if outside != inside:  # else both sides are filled: not a boundary
            (outer if inside else holes).append(
                loop if (turn > 0) == inside else [a.reversed() for a in reversed(loop)]
            )
    if len(outer) != 1:
        raise GeometryError(f"{what} has {len(outer)} separate pieces; a domain is one piece, possibly with holes")
    return [*outer, *holes]


def _simple(loop: Loop, what: str) -> shapely.Polygon:
    """A fine inscribed polygon, which must not cross itself."""
    crowded = -np.cos(np.linspace(0, np.pi, 48, endpoint=False))
    points = np.concatenate([arc.point(crowded[:1] if arc.straight else crowded) for arc in loop])
    polygon = shapely.Polygon(points) if len(points) >= 3 else shapely.Polygon()
    if not polygon.is_valid:
        place = explain_validity(polygon).partition("[")[2].rstrip("]").split()
        where = f" near ({', '.join(f'{float(v):.6g}' for v in place)})" if len(place) == 2 else ""
        raise GeometryError(f"an outline of {what} crosses or touches itself{where}; it must not")
    if polygon.area <= 1e-12 * polygon.length**2:
        raise GeometryError(f"an outline of {what} encloses no area")
    return polygon


def check_size(points: Array, what: str) -> None:
    """Refuse coordinates (n, 2) that are not finite, or so large that double precision cannot resolve the shape."""
    if not np.isfinite(points).all():
        raise GeometryError(f"{what} has a coordinate that is not a finite number")
    largest, extent = np.abs(points).max(), np.ptp(points, axis=0).max()
    if largest > 1e12 or not extent > 1e-12 or largest > 1e6 * extent:
        raise GeometryError(
            f"{what} has coordinates up to {largest:.3g} and an extent of {extent:.3g}; double precision does not resolve "
            "that. Coordinates must stay below 1e12 and below a million times the extent"
        )
