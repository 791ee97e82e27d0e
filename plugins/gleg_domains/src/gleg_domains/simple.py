"""Intervals, rectangles, disks and ellipses."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from gleg_core.contracts.domain import ROUNDING, BoundarySample, Domain, Quadrature, Segment
from gleg_core.spec.params import Number, PackParams, Positive
from gleg_domains.arcs import TWO_PI, ellipse_arc, line
from gleg_domains.corners import StraightSided
from gleg_domains.gauss import count_for, legendre
from gleg_domains.planar import ArcSegment, PlanarDomain

Array = np.ndarray
Point = Annotated[tuple[Number, Number], Field(description="a point [x, y]")]
Range = Annotated[tuple[Number, Number], Field(description="[low, high]")]


def increasing(low: float, high: float, what: str) -> None:
    if not low < high:
        raise ValueError(f"{what} needs low < high, found [{low:g}, {high:g}]")


# --- interval ----------------------------------------------------------------------------------------------------


class IntervalParams(PackParams):
    left: Number = Field(description="left end")
    right: Number = Field(description="right end")

    @model_validator(mode="after")
    def _ordered(self) -> "IntervalParams":
        increasing(self.left, self.right, "the interval")
        return self


class EndPoint(Segment):
    """One end of an interval, with weight 1 and normal ∓1."""

    length = 1.0

    def __init__(self, name: str, place: float, normal: float):
        self.name, self._place, self._normal = name, place, normal

    def sample(self, n: int) -> BoundarySample:
        return BoundarySample(np.array([[self._place]]), np.array([[self._normal]]), np.ones(1))

    def outline(self, n: int) -> Array:
        return np.array([[self._place]])


class Interval(Domain):
    """left < x < right, Gauss–Legendre quadrature."""

    dim = 1
    segments: Sequence[Segment] = ()

    def __init__(self, params: IntervalParams):
        self._left, self._right = params.left, params.right
        self.segments = (EndPoint("left", params.left, -1.0), EndPoint("right", params.right, 1.0))

    @property
    def bounds(self) -> Array:
        return np.array([[self._left, self._right]])

    @property
    def measure(self) -> float:
        return self._right - self._left

    def contains(self, points: Array) -> Array:
        x = np.asarray(points, dtype=float).reshape(-1)
        return (x >= self._left) & (x <= self._right)  # the ends too: a plot or a probe may want the value there

    def quadrature(self, wavenumber: float, tolerance: float = ROUNDING) -> Quadrature:
        n = int(count_for(np.array([0.5 * wavenumber * self.measure]), 0.1 * tolerance)[0])
        u, w = legendre(n)
        return Quadrature((self._left + self.measure * u)[:, None], self.measure * w)


# --- rectangle ---------------------------------------------------------------------------------------------------


class RectangleParams(PackParams):
    x: Range = Field(description="[low, high] in x")
    y: Range = Field(description="[low, high] in y")

    @model_validator(mode="after")
    def _ordered(self) -> "RectangleParams":
        increasing(*self.x, "x of the rectangle")
        increasing(*self.y, "y of the rectangle")
        return self


def rectangle_sides(x: Sequence[float], y: Sequence[float]) -> list[ArcSegment]:
    a, b, c, d = (x[0], y[0]), (x[1], y[0]), (x[1], y[1]), (x[0], y[1])
    sides = {"bottom": (a, b), "right": (b, c), "top": (c, d), "left": (d, a)}
    return [ArcSegment(name, [line(*ends)]) for name, ends in sides.items()]


class Rectangle(StraightSided):
    """x and y in given ranges; segments left, right, bottom, top; tensor Gauss quadrature."""

    def __init__(self, params: RectangleParams):
        self._box = np.array([params.x, params.y])
        sides = rectangle_sides(params.x, params.y)
        super().__init__(sides, [[side.arcs[0] for side in sides]])

    def contains(self, points: Array) -> Array:
        points = np.atleast_2d(points)
        return np.all((points > self._box[:, 0]) & (points < self._box[:, 1]), axis=1)

    def _rule(self, wavenumber: float, tolerance: float) -> Quadrature:
        sides = self._box[:, 1] - self._box[:, 0]
        (u, a), (v, b) = (legendre(int(n)) for n in count_for(0.5 * wavenumber * sides, 0.1 * tolerance))
        x, y = np.meshgrid(self._box[0, 0] + sides[0] * u, self._box[1, 0] + sides[1] * v, indexing="ij")
        weights = np.multiply.outer(a, b) * sides.prod()
        return Quadrature(np.column_stack([x.ravel(), y.ravel()]), weights.ravel())


# --- disk, ellipse -----------------------------------------------------------------------------------------------


class DiskParams(PackParams):
    radius: Positive = Field(description="radius")
    centre: Point = Field((0.0, 0.0), description="centre [x, y]")


class Disk(PlanarDomain):
    """|x − centre| < radius; segment boundary."""

    slab_angles = (0.0,)

    def __init__(self, params: DiskParams):
        self._radius, self._centre = params.radius, np.array(params.centre)
        super().__init__([ArcSegment("boundary", [ellipse_arc(params.radius, params.radius, params.centre)])])

    def contains(self, points: Array) -> Array:
        return np.hypot(*(np.atleast_2d(points) - self._centre).T) < self._radius


class EllipseParams(PackParams):
    a: Positive = Field(description="half axis along the direction `angle`")
    b: Positive = Field(description="the other half axis")
    centre: Point = Field((0.0, 0.0), description="centre [x, y]")
    angle: Number = Field(0.0, description="direction of the axis a, radians")


class Ellipse(PlanarDomain):
    """(ξ/a)² + (η/b)² < 1 in axes (ξ, η) turned by `angle`; segment boundary."""

    def __init__(self, params: EllipseParams):
        super().__init__([ArcSegment("boundary", [ellipse_arc(params.a, params.b, params.centre, params.angle)])])


# --- sector ------------------------------------------------------------------------------------------------------


class SectorParams(PackParams):
    radius: Positive = Field(description="radius")
    angles: Range = Field(description="directions [first, last] of the straight sides, radians, less than 2π apart")
    centre: Point = Field((0.0, 0.0), description="the tip [x, y]")

    @model_validator(mode="after")
    def _open(self) -> "SectorParams":
        increasing(*self.angles, "the angles of the sector")
        if self.angles[1] - self.angles[0] >= TWO_PI:
            raise ValueError(f"the angles of a sector differ by less than 2π, found {list(self.angles)}; use a disk")
        return self


class Sector(PlanarDomain):
    """0 < r < radius between two directions; segments start and end, the sides, and arc."""

    def __init__(self, params: SectorParams):
        self._radius, self._tip, self._angles = params.radius, np.array(params.centre), params.angles
        arc = ellipse_arc(params.radius, params.radius, params.centre, 0.0, *params.angles)
        first, last = arc.at(np.array([0.0, 1.0])).tolist()
        arcs = {"start": line(params.centre, first), "arc": arc, "end": line(last, params.centre)}
        super().__init__([ArcSegment(name, [part]) for name, part in arcs.items()])

    def contains(self, points: Array) -> Array:
        x, y = (np.atleast_2d(points) - self._tip).T
        theta = np.mod(np.arctan2(y, x) - self._angles[0], TWO_PI)
        return (np.hypot(x, y) < self._radius) & (theta > 0) & (theta < self._angles[1] - self._angles[0])
