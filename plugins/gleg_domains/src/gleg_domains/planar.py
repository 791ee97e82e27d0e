"""Plane domains bounded by arcs: segments, inside test, bounds, area and the slab quadrature."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from gleg_core.contracts.domain import ROUNDING, BoundarySample, Corner, Curve, Domain, Quadrature, Segment
from gleg_domains.arcs import Arc, outward, panels, signed_area
from gleg_domains.gauss import legendre
from gleg_domains.monotone import MonotoneArc, crossings, level_points, monotone_parts

Array = np.ndarray
_OFFSET = 0.3819660112501051
"""Phase of equispaced nodes on a closed curve: irrational, so rules with different n share no node."""


class ArcSegment(Segment):
    """A named part of ∂Ω made of arcs in order.

    One closed arc is sampled by the periodic trapezoid rule in an arclength-like parameter, anything else by Gauss rules arc
    by arc, with nodes in proportion to length and never at a corner.
    """

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
        fewest = 2 if n < 3 * len(self.arcs) else 3
        rules = [_arc_rule(arc, max(fewest, round(n * arc.length / self.length))) for arc in self.arcs]
        return BoundarySample(*(np.concatenate(parts) for parts in zip(*rules, strict=True)))

    def outline(self, n: int) -> Array:
        """Points in order; a row of NaN separates parts that are not connected."""
        rows: list[Array] = []
        for arc in self.arcs:
            count = 1 if arc.straight else max(8, round(n * arc.length / self.length))
            points = arc.at(np.linspace(0, 1, count + 1))
            if rows and np.hypot(*(rows[-1][-1] - points[0])) > 1e-9 * self.length:
                rows.append(np.full((1, 2), np.nan))
            rows.append(points if not rows or np.isnan(rows[-1]).any() else points[1:])
        return np.concatenate(rows)


def _arc_rule(arc: Arc, n: int) -> tuple[Array, Array, Array]:
    """Points, normals and arclength weights of a rule with about ``n`` nodes."""
    if arc.closed:
        s, slope = arc.even_parameter.invert((np.arange(n) + _OFFSET) / n)
        w = slope / n
    else:
        u, w = legendre(n) if n <= 400 else panels(n, 100)
        s, w = arc.start + arc.span * u, arc.span * w
    points, velocity = arc.jet(s)
    return points, outward(velocity), np.hypot(*velocity.T) * w


class PlanarDomain(Domain):
    """A bounded open set whose boundary is made of arcs with Ω on their left."""

    dim = 2
    slab_angles: tuple[float, ...] = ()
    """Degrees between the lines of the slab rule and the x axis, if the domain knows the best."""

    def __init__(self, segments: Sequence[ArcSegment]):
        self._segments = tuple(segments)
        self._rules: dict[tuple[float, float], Quadrature] = {}

    @property
    def segments(self) -> Sequence[ArcSegment]:
        return self._segments

    @property
    def arcs(self) -> list[Arc]:
        return [arc for segment in self.segments for arc in segment.arcs]

    @cached_property
    def _monotone(self) -> list[MonotoneArc]:
        return monotone_parts(self.arcs)

    @cached_property
    def _bounds(self) -> Array:
        return np.array([extremes(self.arcs, axis) for axis in (0, 1)])

    @property
    def bounds(self) -> Array:
        return self._bounds.copy()

    @cached_property
    def corners(self) -> Sequence[Corner] | None:
        return super().corners

    def contains(self, points: Array) -> Array:
        points = np.atleast_2d(points)
        box = self._bounds
        inside: Array = np.all((points >= box[:, 0]) & (points <= box[:, 1]), axis=1)
        inside[inside] = crossings(self._monotone, points[inside]) % 2 == 1
        return inside

    def quadrature(self, wavenumber: float, tolerance: float = ROUNDING) -> Quadrature:
        key = float(wavenumber), float(tolerance)
        if key not in self._rules:
            self._rules[key] = self._rule(*key)
        rule = self._rules[key]
        return Quadrature(rule.points.copy(), rule.weights.copy())  # the caller may write into them

    def _rule(self, wavenumber: float, tolerance: float) -> Quadrature:
        rule = self._slabs(wavenumber, tolerance)
        assert rule is not None, "any number of nodes will do"
        return rule

    def _slabs(self, wavenumber: float, tolerance: float, most: float = np.inf) -> Quadrature | None:
        """The slab rule, if it has at most so many nodes."""
        from gleg_domains.slabs import slab_rule  # only here: a second run takes its rule from the cache

        curved = any(not arc.straight for arc in self.arcs)
        angles = self.slab_angles or ((0.0, 90.0, 30.0, 60.0, 120.0, 150.0) if curved else (0.0, 90.0))
        if tolerance > 1e-10:  # finding the best direction would take longer than it saves
            angles = tuple(a for a in angles if a % 90 == 0) or angles
        return slab_rule(self.arcs, self.measure, wavenumber, tolerance, angles, most)

    @cached_property
    def measure(self) -> float:
        return signed_area(self.arcs)


def extremes(arcs: Sequence[Arc], axis: int) -> tuple[float, float]:
    """Least and greatest x (axis 0) or y (axis 1)."""
    turning = (np.concatenate([[arc.start, arc.stop], level_points(arc, axis)]) for arc in arcs)
    values = np.concatenate([arc.point(s)[:, axis] for arc, s in zip(arcs, turning, strict=True)])
    return float(values.min()), float(values.max())
