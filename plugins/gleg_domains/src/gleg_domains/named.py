"""The benchmark domains of the method's publications, by name.

``scale`` multiplies all lengths, ``centre`` shifts the picture; the defaults give the published domains.
"""

from collections.abc import Callable
from functools import cache

import numpy as np
from pydantic import Field, model_validator

from gleg_core.expressions import formula
from gleg_core.spec.params import Number, PackParams, Positive
from gleg_domains.arcs import TWO_PI, Arc, ellipse_arc, line, rotation
from gleg_domains.curve import formula_arc
from gleg_domains.planar import ArcSegment, PlanarDomain, extremes
from gleg_domains.polar import PolarCurve, RingedDomain, curve_of
from gleg_domains.simple import Point, rectangle_sides

Array = np.ndarray


class NamedParams(PackParams):
    scale: Positive = Field(1.0, description="factor on all lengths")
    centre: Point = Field((0.0, 0.0), description="shift [x, y]")


def placed(arc: Arc, params: NamedParams, turned: float = 0.0) -> Arc:
    """The arc turned by an angle, scaled and shifted."""
    return arc.moved(params.scale * rotation(turned), np.array(params.centre))


def polar_curve(radius: str, **constants: float) -> PolarCurve:
    return curve_of(formula(radius, ["theta"], constants))


# --- star-shaped ---------------------------------------------------------------------------------------------------


class Rosette(RingedDomain):
    """R(θ) = 0.53 (1 − 0.72 cos 6θ)^{−1/6}: six petals."""

    def __init__(self, params: NamedParams):
        super().__init__(
            polar_curve("scale*0.53*(1 - 0.72*cos(6*theta))^(-1/6)", scale=params.scale), None, params.centre
        )


class PeanutParams(NamedParams):
    radius: Positive = Field(0.52, description="mean radius R0")
    waist: Number = Field(0.42, gt=-1, lt=1, description="ε in R0 (1 + ε cos 2θ)")


class Peanut(RingedDomain):
    """R(θ) = R0 (1 + ε cos 2θ), area πR0²(1 + ε²/2)."""

    def __init__(self, params: PeanutParams):
        curve = polar_curve("R0*(1 + eps*cos(2*theta))", R0=params.scale * params.radius, eps=params.waist)
        super().__init__(curve, None, params.centre)


class AnnularStar(RingedDomain):
    """0.23 + 0.055 cos(3θ + π/5) < r < 0.70 + 0.105 cos 5θ + 0.040 sin 2θ; segments outer, inner."""

    def __init__(self, params: NamedParams):
        outer = polar_curve("scale*(0.70 + 0.105*cos(5*theta) + 0.040*sin(2*theta))", scale=params.scale)
        inner = polar_curve("scale*(0.23 + 0.055*cos(3*theta + pi/5))", scale=params.scale)
        super().__init__(outer, inner, params.centre)


class Star(RingedDomain):
    """|x − c| < scale · R(θ) for a fixed R, about ``offset`` times the scale."""

    radius: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    offset = (0.0, 0.0)

    def __init__(self, params: NamedParams):
        (x, y), (dx, dy), scale, cls = params.centre, self.offset, params.scale, type(self)

        def both(theta: Array) -> tuple[Array, Array]:
            return scale * cls.radius(theta), scale * cls.slope(theta)

        super().__init__(
            PolarCurve(lambda theta: scale * cls.radius(theta), both), None, (x + scale * dx, y + scale * dy)
        )


_BUMPS = (
    (0.305, np.pi / 2 - 0.43, 0.255),
    (0.305, np.pi / 2 + 0.43, 0.255),
    (-0.070, np.pi / 2, 0.165),
    (0.040, np.pi - 0.28, 0.36),
    (0.040, 0.28, 0.36),
    (-0.025, 3 * np.pi / 2, 0.42),
)
"""Height, angle and width of ears, cleft, cheeks and chin."""


class Bunny(Star):
    """R(θ) = 0.475 + Σ h exp(−d²/2w²), d the angle to a bump's centre, about (0, −0.10).

    Each bump is summed over d + 2πm, m = −1, 0, 1: smooth, and within 2e-14 of the nearest term alone.
    """

    offset = (0.0, -0.10)

    @staticmethod
    def radius(theta: Array) -> Array:
        return 0.475 + Bunny._bells(theta)[1].sum(axis=0)

    @staticmethod
    def slope(theta: Array) -> Array:
        steepness, bells = Bunny._bells(theta)
        return -(steepness * bells).sum(axis=0)

    @staticmethod
    def _bells(theta: Array) -> tuple[Array, Array]:
        """d/w² and h exp(−d²/2w²) for every bump and m, (18, n)."""
        height, centre, width = np.repeat(_BUMPS, 3, axis=0).T[..., None]
        d = np.mod(theta, TWO_PI) - centre + TWO_PI * np.tile([-1, 0, 1], len(_BUMPS))[:, None]
        return d / width**2, height * np.exp(-0.5 * (d / width) ** 2)


class Pinwheel(Star):
    """The level set 0.6⁸ − r⁸ + 0.30 r⁶ cos 6θ − 0.10 r⁵ sin 5θ + 0.12 r⁵ cos 3θ > 0, solved for r = R(θ)."""

    @staticmethod
    def radius(theta: Array) -> Array:
        return Pinwheel._newton(np.interp(np.mod(theta, TWO_PI), *_pinwheel_table()), theta, 3)

    @staticmethod
    def _newton(r: Array, theta: Array, steps: int) -> Array:
        a, b = Pinwheel._angular(theta)
        for _ in range(steps):
            value, slope = Pinwheel._level(r, a, b)
            r = r - value / slope
        return r

    @staticmethod
    def slope(theta: Array) -> Array:
        r = Pinwheel.radius(theta)
        turning = -1.8 * r * np.sin(6 * theta) - (0.5 * np.cos(5 * theta) + 0.36 * np.sin(3 * theta))
        return -turning * r**5 / Pinwheel._level(r, *Pinwheel._angular(theta))[1]

    @staticmethod
    def _angular(theta: Array) -> tuple[Array, Array]:
        return 0.30 * np.cos(6 * theta), 0.12 * np.cos(3 * theta) - 0.10 * np.sin(5 * theta)

    @staticmethod
    def _level(r: Array, a: Array, b: Array) -> tuple[Array, Array]:
        """0.6⁸ + r⁵ (b + r (a − r²)) and its derivative in r, by products: powers take ten times as long."""
        square = r * r
        fourth = square * square
        return 0.6**8 + fourth * r * (b + r * (a - square)), fourth * (5 * b + r * (6 * a - 8 * square))


@cache
def _pinwheel_table() -> tuple[Array, Array]:
    """R at many angles: where Newton's method starts."""
    theta = TWO_PI * np.arange(2001) / 2000
    return theta, Pinwheel._newton(np.full(len(theta), 1.2), theta, 20)


# --- with corners, or mapped from a disk -------------------------------------------------------------------------------


class Crescent(PlanarDomain):
    """The disk |x| < 0.76 minus the disk of radius 0.60 about (0.34, 0): two corners; segments outer, inner."""

    R_OUTER, R_INNER, SHIFT = 0.76, 0.60, 0.34

    def __init__(self, params: NamedParams):
        x = (self.R_OUTER**2 - self.R_INNER**2 + self.SHIFT**2) / (2 * self.SHIFT)
        y = np.sqrt(self.R_OUTER**2 - x**2)
        far, near = np.arctan2(y, x), np.arctan2(y, x - self.SHIFT)
        outer = ellipse_arc(self.R_OUTER, self.R_OUTER, (0, 0), 0.0, far, TWO_PI - far)
        inner = ellipse_arc(self.R_INNER, self.R_INNER, (self.SHIFT, 0), 0.0, near, TWO_PI - near).reversed()
        super().__init__([ArcSegment(n, [placed(a, params)]) for n, a in (("outer", outer), ("inner", inner))])


class HeartParams(NamedParams):
    scale: Positive = Field(0.51, description="half width L")


class Heart(PlanarDomain):
    """X² + (1.25 Y − q(X))² < 1, q(X) = √(X² + 0.25²), X = x/L, Y = y/L + Y_c: area πL²/1.25; segment boundary.

    Vertical lines meet it in intervals of length 1.6 L √(1 − X²), as they do a disk, so one piece of the slab rule covers it.
    """

    slab_angles = (90.0,)

    def __init__(self, params: HeartParams):
        curve = formula_arc(formula("sin(s)", ["s"]), formula("(cos(s) + sqrt(sin(s)^2 + 0.25^2))/1.25", ["s"]))
        low, high = extremes([curve], 1)
        centred = curve.moved(np.eye(2), np.array([0.0, -0.5 * (low + high)])).reversed()
        super().__init__([ArcSegment("boundary", [placed(centred, params)])])


class ObliqueChannelParams(NamedParams):
    half_length: Positive = Field(0.78, description="L: |ξ| < L")
    half_width: Positive = Field(0.18, description="w: |η − A sin(2πξ/L)| < w")
    amplitude: Number = Field(0.12, description="A")
    angle: Number = Field(np.pi / 6, description="direction of the ξ axis, radians")


class ObliqueChannel(PlanarDomain):
    """|ξ| < L, |η − A sin(2πξ/L)| < w in axes turned by `angle`; area 4Lw; segments lower, upper, start, end."""

    def __init__(self, params: ObliqueChannelParams):
        length, width = params.half_length, params.half_width
        self.slab_angles = (float(np.rad2deg(params.angle)) + 90.0,)

        def wall(shift: float) -> Arc:
            constants = {"A": params.amplitude, "L": length, "shift": shift}
            y = formula("A*sin(2*pi*s/L) + shift", ["s"], constants)
            return formula_arc(formula("s", ["s"]), y, -length, length, closed=False)

        arcs = {
            "lower": wall(-width),
            "end": line((length, -width), (length, width)),
            "upper": wall(width).reversed(),
            "start": line((-length, width), (-length, -width)),
        }
        super().__init__([ArcSegment(n, [placed(a, params, params.angle)]) for n, a in arcs.items()])


class CylinderChannelParams(PackParams):
    half_length: Positive = Field(0.95, description="X: |x| < X")
    half_height: Positive = Field(0.2375, description="H: |y| < H")
    radius: Positive = Field(0.0523, description="radius of the cylinder")
    cylinder: Point = Field((-0.6769, 0.0), description="centre of the cylinder")

    @model_validator(mode="after")
    def _inside(self) -> "CylinderChannelParams":
        (x, y), r = self.cylinder, self.radius
        if abs(x) + r >= self.half_length or abs(y) + r >= self.half_height:
            raise ValueError(f"the cylinder of radius {r:g} about ({x:g}, {y:g}) must lie strictly inside the channel")
        return self


class CylinderChannel(PlanarDomain):
    """A rectangle minus a disk; segments inlet, outlet, bottom, top, cylinder."""

    slab_angles = (0.0, 90.0)

    def __init__(self, params: CylinderChannelParams):
        x, y, r = params.half_length, params.half_height, params.radius
        self._half, self._radius, self._cylinder = np.array([x, y]), r, np.array(params.cylinder)
        sides = rectangle_sides((-x, x), (-y, y))
        new_names = {"left": "inlet", "right": "outlet"}
        segments = [ArcSegment(new_names.get(side.name, side.name), side.arcs) for side in sides]
        super().__init__([*segments, ArcSegment("cylinder", [ellipse_arc(r, r, params.cylinder).reversed()])])

    def contains(self, points: Array) -> Array:
        points = np.atleast_2d(points)
        outside_cylinder = np.hypot(*(points - self._cylinder).T) > self._radius
        return (np.abs(points) < self._half).all(axis=1) & outside_cylinder
