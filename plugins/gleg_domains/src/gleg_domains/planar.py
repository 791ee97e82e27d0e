"""Plane domains bounded by arcs: segments, inside test, bounds, area and the slab quadrature."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from gleg_core.contracts.domain import ROUNDING, BoundarySample, Domain, Quadrature, Segment
from gleg_domains.arcs import Arc, panels, rotation, signed_area
from gleg_domains.gauss import legendre
from gleg_domains.monotone import MonotoneArc, crossings, level_points, monotone_parts
from gleg_domains.reparametrize import Reparametrization, choose

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
        self._reparametrizations: dict[int, Reparametrization] = {}

    @cached_property
    def length(self) -> float:  # type: ignore[override]
        return float(sum(arc.length for arc in self.arcs))

    def sample(self, n: int) -> BoundarySample:
        fewest = 2 if n < 3 * len(self.arcs) else 3
        parts = []
        for i, arc in enumerate(self.arcs):
            count = max(fewest, round(n * arc.length / self.length))
            parts.append(self._periodic(i, arc, count) if arc.closed else _gauss(arc, count))
        return BoundarySample(*(np.concatenate([p[k] for p in parts]) for k in range(3)))

    def _periodic(self, i: int, arc: Arc, n: int) -> tuple[Array, Array, Array]:
        if i not in self._reparametrizations:
            self._reparametrizations[i] = choose(arc.speed, arc.start, arc.span)
        s, slope = self._reparametrizations[i].invert((np.arange(n) + _OFFSET) / n)
        return _rule_at(arc, s, slope / n)

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


def _gauss(arc: Arc, n: int) -> tuple[Array, Array, Array]:
    u, w = legendre(n) if n <= 400 else panels(n, 100)
    return _rule_at(arc, arc.start + arc.span * u, arc.span * w)


def _rule_at(arc: Arc, s: Array, w: Array) -> tuple[Array, Array, Array]:
    """Points, normals and arclength weights for the rule Σ w f(s) of ∫f ds."""
    velocity = arc.velocity(s)
    speed = np.hypot(velocity[:, 0], velocity[:, 1])
    normals = np.column_stack([velocity[:, 1], -velocity[:, 0]]) / speed[:, None]
    return arc.point(s), normals, speed * w


_CURSORY = 1e-10
"""Tolerance above which a rule need not be the best one."""


class PlanarDomain(Domain):
    """A bounded open set whose boundary is made of arcs with Ω on their left."""

    dim = 2

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
        return np.array([extremes(self.arcs, 90.0), extremes(self.arcs, 0.0)])

    @property
    def bounds(self) -> Array:
        return self._bounds.copy()

    def contains(self, points: Array) -> Array:
        points = np.atleast_2d(np.asarray(points, dtype=float))
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

        angles = self._slab_angles
        if tolerance > _CURSORY:  # finding the best direction would take longer than it saves
            angles = tuple(a for a in angles if a % 90 == 0) or angles
        return slab_rule(self.arcs, self.measure, wavenumber, tolerance, angles, most)

    @property
    def _slab_angles(self) -> tuple[float, ...]:
        curved = any(not arc.straight for arc in self.arcs)
        return (0.0, 90.0, 30.0, 60.0, 120.0, 150.0) if curved else (0.0, 90.0)

    @cached_property
    def measure(self) -> float:
        return signed_area(self.arcs)


def extremes(arcs: Sequence[Arc], degrees: float) -> tuple[float, float]:
    """Least and greatest of the coordinate normal to lines at this angle: 0 for y, 90 for x."""
    turn = rotation(np.deg2rad(degrees)) if degrees else np.eye(2)
    values: list[Any] = []
    for arc in arcs:
        turned = arc.moved(turn, np.zeros(2)) if degrees else arc
        s = np.array([arc.start, arc.stop])
        if not arc.straight:
            s = np.concatenate([s, level_points(turned)])
        values.append(turned.point(s)[:, 1])
    flat = np.concatenate(values)
    return float(flat.min()), float(flat.max())
