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
    """A smooth piece γ(s), 0 ≤ s ≤ 1, of ∂Ω in the plane, Ω on its left: ``point`` maps (n,) → (n, 2). A closed curve ends where it starts."""

    point: Callable[[Array], Array]
    straight: bool = False

    @property
    def ends(self) -> Array:
        """γ(0) and γ(1), (2, 2)."""
        return self.point(np.array([0.0, 1.0]))

    def direction(self, s: float) -> Array:
        """The unit tangent at an end, s = 0 or 1, (2,): the slope there of the parabola through three points."""
        h = 1e-4 * (1 - 2 * s)
        a, b, c = self.point(s + h * np.arange(3))
        slope = (4 * b - 3 * a - c) / h
        return slope / np.hypot(*slope)


@dataclass(frozen=True)
class Corner:
    """A point of ∂Ω in the plane where the normal jumps, or where two segments meet: ``point`` (2,), the interior ``angle`` in radians
    (above π at a re-entrant corner), and the names of the ``segments`` that meet, that of the segment which ends there first; one name if
    both sides belong to the same."""

    point: Array
    angle: float
    segments: tuple[str, ...]


_STRAIGHT_ON = 1e-6
"""Curves that turn by less than this where they meet, in radians, go straight on."""
_MEET = 1e-7
"""Ends closer than this part of the domain's extent are one point."""


def corners_of(segments: "Sequence[Segment]") -> "tuple[Corner, ...] | None":
    """The corners between the curves of the segments; None if one does not know its curves."""
    curves = [(segment.name, curve) for segment in segments for curve in segment.curves or ()]
    if not curves or any(segment.curves is None for segment in segments):
        return None
    shapes = np.array([curve.point(np.linspace(0.0, 1.0, 5)) for _, curve in curves])
    ends, near = shapes[:, [0, -1]], _MEET * float(np.ptp(shapes, axis=(0, 1)).max())
    found = []
    for (name, curve), (_, stop) in zip(curves, ends, strict=True):
        gaps = np.hypot(*(ends[:, 0] - stop).T)
        j = int(np.argmin(gaps))
        if gaps[j] > near:
            continue
        (following, after), a = curves[j], curve.direction(1)
        b = after.direction(0)
        turn = float(np.arctan2(a[0] * b[1] - a[1] * b[0], a @ b))
        if abs(turn) > _STRAIGHT_ON or following != name:
            found.append(Corner(stop.copy(), float(np.pi - turn), tuple(dict.fromkeys((name, following)))))
    return tuple(found)


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
