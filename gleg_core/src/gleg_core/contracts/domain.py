"""Contract Domain: a bounded region Ω with boundary, normals, named segments and a volume quadrature.

Geometry is plain numpy in the user's physical units; a domain knows no equation and no basis. The factory of a
domain entry is called as ``factory(params)`` with the validated parameters.

What a domain must satisfy (and the conformance kit checks):

* the segments cover ∂Ω once, their normals are outward and of unit length;
* the divergence theorem  ∫_Ω ∇·F dx = Σ_segments ∮ F·n ds  links the volume quadrature and the boundary rule;
* volume weights are positive, volume nodes lie inside Ω.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

Array = np.ndarray
ROUNDING = 1e-13
"""The tolerance of a quadrature whose errors are those of rounding."""


@dataclass(frozen=True)
class Quadrature:
    """Nodes ``points`` of shape (n, dim) inside Ω and weights (n,), all positive: ∫_Ω f ≈ Σ w_q f(x_q)."""

    points: Array
    weights: Array


@dataclass(frozen=True)
class BoundarySample:
    """A rule on (part of) ∂Ω: ``points`` (n, dim), outward unit ``normals`` (n, dim), arclength ``weights`` (n,).

    In one dimension a segment is a single end point with weight 1.
    """

    points: Array
    normals: Array
    weights: Array


@dataclass(frozen=True)
class Curve:
    """A smooth piece γ(s), 0 ≤ s ≤ 1, of ∂Ω in the plane, Ω on its left: ``point`` maps (n,) → (n, 2). A closed curve ends where it starts.
    ``velocity`` is γ', if it is known: tangents are then exact."""

    point: Callable[[Array], Array]
    straight: bool = False
    velocity: Callable[[Array], Array] | None = None

    @property
    def ends(self) -> Array:
        """γ(0) and γ(1), (2, 2)."""
        return self.point(np.array([0.0, 1.0]))

    def direction(self, s: float) -> Array:
        """The unit tangent at an end, s = 0 or 1, (2,)."""
        if self.velocity is not None:
            slope, inner, middle = self.velocity(np.array([s, s + 1e-8 * (1 - 2 * s), 0.5]))
            if np.hypot(*slope) <= 1e-9 * np.hypot(*middle):  # γ' = 0 there, as in splines with a control point twice
                slope = inner
        else:
            h = 1e-4 * (1 - 2 * s)
            slope = _ONE_SIDED @ self.point(s + h * np.arange(len(_ONE_SIDED))) / h
        return slope / np.hypot(*slope)


_ONE_SIDED = np.array([-49 / 20, 6, -15 / 2, 20 / 3, -15 / 4, 6 / 5, -1 / 6])
"""h γ'(0) from γ(0), γ(h), …: the polynomial through seven points."""


@dataclass(frozen=True)
class Corner:
    """A point of ∂Ω in the plane where the normal jumps, or where two segments meet: ``point`` (2,), the interior ``angle`` in radians
    (above π at a re-entrant corner), and the names of the ``segments`` that meet, that of the segment which ends there first; one name if
    both sides belong to the same."""

    point: Array
    angle: float
    segments: tuple[str, ...]


@dataclass(frozen=True)
class RoughPoint:
    """A ``point`` (dim,) near which solutions are not smooth: they behave like r^exponent, r the distance from it; exponent 0 where they
    jump, infinite where they are smooth but vary within a short length. ``reason`` says why, for a line of output."""

    point: Array
    exponent: float
    reason: str = ""


_STRAIGHT_ON = 1e-6
"""Curves that turn by less than this where they meet, in radians, go straight on."""
_MEET = 1e-7
"""Ends closer than this part of the domain's extent are one point."""
_NARROW = 1e-6
"""Curves that turn back by less than this, in radians, meet in a cusp: how they bend tells on which side Ω is."""


def corners_of(segments: "Sequence[Segment]") -> "tuple[Corner, ...] | None":
    """The corners between the curves of the segments; None if one does not know its curves."""
    curves = [(segment.name, curve) for segment in segments for curve in segment.curves or ()]
    if not curves or any(segment.curves is None for segment in segments):
        return None
    points = [curve.ends if curve.straight else curve.point(np.linspace(0.0, 1.0, 9)) for _, curve in curves]
    starts, stops = (np.array([p[end] for p in points]) for end in (0, -1))
    starts.flags.writeable = False  # corners share them
    chord = stops - starts
    arrive, leave = (
        np.array([c if curve.straight else curve.direction(s) for c, (_, curve) in zip(chord, curves, strict=True)])
        for s in (1.0, 0.0)
    )
    i, j = _meetings(starts, stops, _MEET * float(np.ptp(np.concatenate(points), axis=0).max()))
    a, b = arrive[i], leave[j]
    turn = np.arctan2(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0], (a * b).sum(axis=1))
    for k in np.flatnonzero(np.abs(turn) > np.pi - _NARROW):
        turn[k] = np.copysign(turn[k], _turns_left(curves[i[k]][1], curves[j[k]][1], starts[j[k]]))
    rank = np.lexsort((-turn, i))  # where several start, the one that turns most to the left bounds the same part of Ω
    rank = rank[np.append(True, np.diff(i[rank]) > 0)] if len(rank) else rank
    found = []
    for k in rank:
        names = curves[i[k]][0], curves[j[k]][0]
        if abs(turn[k]) > _STRAIGHT_ON or names[0] != names[1]:
            found.append(Corner(starts[j[k]], float(np.pi - turn[k]), tuple(dict.fromkeys(names))))
    return tuple(found)


def _meetings(starts: Array, stops: Array, near: float) -> tuple[Array, Array]:
    """Pairs (i, j), sorted by i, with curve j starting where curve i stops."""
    key, wanted = starts @ _SKEW, stops @ _SKEW
    order = np.argsort(key)
    low, high = np.searchsorted(key[order], wanted - near), np.searchsorted(key[order], wanted + near, "right")
    count = high - low
    i = np.repeat(np.arange(len(stops)), count)
    j = order[np.arange(len(i)) - np.repeat(np.cumsum(count) - count, count) + np.repeat(low, count)]
    close = np.hypot(*(starts[j] - stops[i]).T) <= near
    return i[close], j[close]


_SKEW = np.array([0.8253, 0.5647])
"""A direction of length one that hardly any boundary is perpendicular to for long."""


def _turns_left(before: Curve, after: Curve, cusp: Array) -> float:
    """Positive if Ω is within a cusp, so that its angle is 0, negative if around it: from points on both sides equally far away."""
    sides = []
    for curve, end, step in ((before, 1.0, -1e-3), (after, 0.0, 1e-3)):
        reach = float(np.hypot(*(curve.point(np.array([end + step]))[0] - cusp)))
        sides.append((curve, end, step, reach))
    least = min(reach for *_, reach in sides)
    q, p = (curve.point(np.array([end + step * least / reach]))[0] - cusp for curve, end, step, reach in sides)
    return float(p[0] * q[1] - p[1] * q[0])


class Segment(ABC):
    """A named, smooth (or piecewise smooth) part of ∂Ω."""

    name: str
    length: float
    """Arclength; 1 for an end point in one dimension."""

    @property
    def curves(self) -> Sequence[Curve] | None:
        """Its smooth pieces in the plane, if the domain knows them: elements then follow them exactly. None: only ``outline`` is known."""
        return None

    @abstractmethod
    def sample(self, n: int) -> BoundarySample:
        """A high-order arclength rule with about ``n`` nodes, never at a corner where the normal jumps.

        Different ``n`` give different nodes, so a dense rule serves as an independent check.
        """

    @abstractmethod
    def outline(self, n: int) -> Array:
        """About ``n`` points along the segment in order, ends included, shape (m, dim); for pictures. A row of NaN parts
        disconnected pieces."""


class Domain(ABC):
    """A bounded open set Ω in 1, 2 or 3 dimensions."""

    dim: int

    @property
    @abstractmethod
    def segments(self) -> Sequence[Segment]:
        """Named parts of ∂Ω with distinct names; together they cover ∂Ω once."""

    @property
    @abstractmethod
    def bounds(self) -> Array:
        """Bounding box, shape (dim, 2): lower and upper end per coordinate."""

    @abstractmethod
    def contains(self, points: Array) -> Array:
        """Boolean mask (n,): which of the points (n, dim) lie in Ω."""

    @abstractmethod
    def quadrature(self, wavenumber: float, tolerance: float = ROUNDING) -> Quadrature:
        """A rule that integrates oscillations exp(i κ·x) with |κ| ≤ ``wavenumber`` (radians per unit length)
        over Ω with errors of about ``tolerance`` times its area; a larger ``wavenumber`` or a smaller ``tolerance`` may give more
        nodes, never a larger error. Nodes on common lines parallel to an axis are worth some more of them: bases whose functions are
        products of functions of one coordinate are evaluated faster there."""

    @property
    def corners(self) -> Sequence[Corner] | None:
        """All corners of ∂Ω, empty if it has none; None if the domain cannot tell. Solutions are rough at re-entrant ones."""
        return corners_of(self.segments)

    @property
    def feature_size(self) -> float | None:
        """The smallest length in ∂Ω: no smooth piece is shorter, and no two pieces without a common end are closer to each other; None if
        the domain cannot tell."""
        return None

    @property
    def measure(self) -> float:
        """Area (length, volume) of Ω."""
        extent = float(np.max(self.bounds[:, 1] - self.bounds[:, 0]))
        return float(np.sum(self.quadrature(20.0 / extent).weights))
