"""Star-shaped domains r < R(θ) and the space between two such curves."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from pydantic import Field, model_validator

from gleg_core.contracts.domain import Quadrature
from gleg_core.errors import GeometryError
from gleg_core.expressions import Expression, formula
from gleg_core.spec.params import PackParams, Positive, formula_over
from gleg_domains.arcs import TWO_PI, Arc, evaluated, polar_arc
from gleg_domains.kinks import kinks, parted
from gleg_domains.planar import ArcSegment, PlanarDomain
from gleg_domains.reparametrize import identity, smoothed
from gleg_domains.simple import Point

Array = np.ndarray
SHARP = 2e-8
"""A corner leaves modes of about 1/n² = 2.5e-7 at n = 2000 samples; smooth curves leave rounding."""
Radius = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class PolarCurve:
    """R(θ), 2π-periodic: ``both`` gives R and R' at once, which jumps at the ``knots`` only."""

    radius: Radius
    both: Callable[[Array], tuple[Array, Array]]
    knots: Sequence[float] = ()

    def arcs(self, centre: tuple[float, float]) -> list[Arc]:
        """Counter-clockwise."""
        return parted(polar_arc(self.radius, self.both, centre), self.knots)


def curve_of(radius: Expression) -> PolarCurve:
    """The curve of a formula that is smooth, periodic and positive."""
    slope = radius.d("theta")

    def both(theta: Array) -> tuple[Array, Array]:
        r, dr = evaluated((radius, slope), theta=theta)
        return r, dr

    return PolarCurve(lambda theta: evaluated((radius,), theta=theta)[0], both)


_ANGLES = TWO_PI * np.arange(2000) / 2000


def checked_curve(radius: Expression, what: str) -> PolarCurve:
    """The curve of a formula over 0 ≤ θ ≤ 2π, which must be positive, finite, periodic and, but for corners, smooth."""
    once, theta = curve_of(radius), _ANGLES
    with np.errstate(all="ignore"):
        r = once.radius(theta)
        ends = once.radius(np.array([0.0, TWO_PI]))
    if not np.isfinite(r).all():
        raise GeometryError(
            f"{what} is {r[~np.isfinite(r)][0]} at theta = {theta[~np.isfinite(r)][0]:.4g}; it must be finite"
        )
    if r.min() <= 0:
        at = int(np.argmin(r))
        raise GeometryError(f"{what} is {r[at]:.4g} at theta = {theta[at]:.4g}; it must be positive for all theta")
    if abs(ends[1] - ends[0]) > 1e-10 * r.max():
        raise GeometryError(
            f"{what} is {ends[0]:.6g} at theta = 0 but {ends[1]:.6g} at theta = 2π; it must be periodic in theta"
        )
    curve = PolarCurve(lambda t: once.radius(np.mod(t, TWO_PI)), lambda t: once.both(np.mod(t, TWO_PI)))
    with np.errstate(all="ignore"):
        knots = kinks(polar_arc(curve.radius, curve.both), what)
    if not knots and sharpness(r) > SHARP:
        raise GeometryError(
            f"{what} is not a smooth function of theta, and not for its corners; combine several domains instead"
        )
    return replace(curve, knots=knots)


def sharpness(values: Array) -> float:
    """Size of the highest Fourier modes of equispaced periodic values (n, …), relative to their range; rounding if smooth."""
    size = np.abs(np.fft.rfft(values, axis=0)) / len(values)
    return float(size[-len(size) // 8 :].max() / max(np.ptp(values), 1e-3 * np.abs(values).max()))


class RingedDomain(PlanarDomain):
    """R_in(θ) < |x − c| < R_out(θ), segments outer and inner; or the star |x − c| < R_out(θ), segment boundary."""

    def __init__(self, outer: PolarCurve, inner: PolarCurve | None = None, centre: tuple[float, float] = (0.0, 0.0)):
        self._outer, self._inner, self._centre = outer.radius, None if inner is None else inner.radius, np.array(centre)
        self._smooth = not outer.knots and (inner is None or not inner.knots)
        arcs = {"outer" if inner else "boundary": outer.arcs(centre)}
        if inner is not None:
            far, near = outer.radius(_ANGLES), inner.radius(_ANGLES)
            if far[at := int(np.argmin(far - near))] <= near[at]:
                values = f"inner {near[at]:.4g}, outer {far[at]:.4g}"
                raise GeometryError(
                    f"the inner radius must stay below the outer; at theta = {_ANGLES[at]:.4g}: {values}"
                )
            arcs["inner"] = [arc.reversed() for arc in reversed(inner.arcs(centre))]
        super().__init__([ArcSegment(name, parts) for name, parts in arcs.items()])

    def contains(self, points: Array) -> Array:
        x, y = (np.atleast_2d(points) - self._centre).T
        r, theta = np.hypot(x, y), np.mod(np.arctan2(y, x), TWO_PI)
        inside = r < self._outer(theta)
        return inside if self._inner is None else inside & (r > self._inner(theta))

    def _rule(self, wavenumber: float, tolerance: float) -> Quadrature:
        """The slab rule, or a ring rule in θ or in a smoothed arclength if that has clearly fewer nodes."""
        if not self._smooth:
            return super()._rule(wavenumber, tolerance)
        from gleg_domains.rings import RingPlan, Rings  # only here: a second run takes its rule from the cache
        from gleg_domains.slabs import LINES_ARE_WORTH

        rings = Rings(self._outer, self._inner, self._centre)
        modes = self.arcs[0].speed_modes
        angles = [identity(0.0, TWO_PI), *(smoothed(modes, 0.0, TWO_PI, width) for width in (0.02, 0.04))]
        plans = [RingPlan(rings, angle, wavenumber, tolerance * self.measure) for angle in angles]
        for plan in sorted(plans, key=lambda plan: plan.nodes):
            if (lines := self._slabs(wavenumber, tolerance, LINES_ARE_WORTH * plan.nodes)) is not None:
                return lines
            if plan.possible:
                return plan.rule()
        return super()._rule(wavenumber, tolerance)


class PolarParams(PackParams):
    radius: formula_over("theta") = Field(description="R(theta) > 0, periodic in theta; it may have corners")  # type: ignore[valid-type]
    centre: Point = Field((0.0, 0.0), description="the point the domain is star-shaped about")


class Polar(RingedDomain):
    """A star-shaped domain from a formula for R(θ)."""

    def __init__(self, params: PolarParams):
        super().__init__(checked_curve(params.radius, "the radius"), None, params.centre)


class PolarAnnulusParams(PackParams):
    outer: formula_over("theta") = Field(description="outer radius as a formula of theta")  # type: ignore[valid-type]
    inner: formula_over("theta") = Field(description="inner radius as a formula of theta")  # type: ignore[valid-type]
    centre: Point = Field((0.0, 0.0), description="common centre of both curves")


class PolarAnnulus(RingedDomain):
    """The space between two polar curves given by formulas."""

    def __init__(self, params: PolarAnnulusParams):
        outer, inner = checked_curve(params.outer, "the outer radius"), checked_curve(params.inner, "the inner radius")
        super().__init__(outer, inner, params.centre)


class AnnulusParams(PackParams):
    outer: Positive = Field(description="outer radius")
    inner: Positive = Field(description="inner radius, less than the outer")
    centre: Point = Field((0.0, 0.0), description="centre [x, y]")

    @model_validator(mode="after")
    def _nested(self) -> "AnnulusParams":
        if self.inner >= self.outer:
            raise ValueError(f"inner must be less than outer, found inner {self.inner:g}, outer {self.outer:g}")
        return self


class Annulus(RingedDomain):
    """inner < |x − centre| < outer; segments outer, inner."""

    def __init__(self, params: AnnulusParams):
        super().__init__(curve_of(formula(params.outer)), curve_of(formula(params.inner)), params.centre)
