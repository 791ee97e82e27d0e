"""Star-shaped domains r < R(θ) and the space between two such curves."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field, model_validator

from gleg_core.contracts.domain import Quadrature
from gleg_core.errors import GeometryError
from gleg_core.expressions import Expression
from gleg_core.spec.params import PackParams, Positive, formula_over
from gleg_domains.arcs import TWO_PI, polar_arc
from gleg_domains.planar import ArcSegment, PlanarDomain
from gleg_domains.reparametrize import density_modes, identity, smoothed
from gleg_domains.simple import Point

Array = np.ndarray
SHARP = 2e-8
"""A corner leaves modes of about 1/n² = 2.5e-7 at n = 2000 samples; smooth curves leave rounding."""
Radius = Callable[[Array], Array]
if TYPE_CHECKING:
    from gleg_domains.rings import Rings

    ThetaFormula = Expression
else:
    ThetaFormula = formula_over("theta")


def function_of(expression: Expression, variable: str) -> Radius:
    """The formula as a function (n,) → (n,)."""

    def call(values: Array) -> Array:
        result = np.asarray(expression(**{variable: np.asarray(values, dtype=float)}), dtype=float)
        return np.broadcast_to(result, np.shape(values)).astype(float)

    return call


def checked_radius(radius: Radius, what: str) -> None:
    """R must be positive, finite and 2π-periodic."""
    theta = TWO_PI * np.arange(2000) / 2000
    with np.errstate(all="ignore"):
        r = radius(theta)
        ends = radius(np.array([0.0, TWO_PI]))
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
    if sharpness(r) > SHARP:
        raise GeometryError(
            f"{what} is not a smooth function of theta: it has a corner; combine several domains instead"
        )


def sharpness(values: Array) -> float:
    """Size of the highest Fourier modes of equispaced periodic values (n, …), relative to their range; rounding if smooth."""
    size = np.abs(np.fft.rfft(values, axis=0)) / len(values)
    return float(size[-len(size) // 8 :].max() / max(np.ptp(values), 1e-3 * np.abs(values).max()))


class RingedDomain(PlanarDomain):
    """A domain that rings fill, with the outer boundary first."""

    @property
    @abstractmethod
    def rings(self) -> Rings: ...

    def _rule(self, wavenumber: float, tolerance: float) -> Quadrature:
        """The slab rule, or a ring rule in θ or in a smoothed arclength if that has clearly fewer nodes."""
        from gleg_domains.rings import RingPlan  # only here: a second run takes its rule from the cache
        from gleg_domains.slabs import LINES_ARE_WORTH

        modes = density_modes(self.arcs[0].speed, 0.0, TWO_PI)
        angles = [identity(0.0, TWO_PI), *(smoothed(modes, 0.0, TWO_PI, width) for width in (0.02, 0.04))]
        plans = [RingPlan(self.rings, angle, wavenumber, tolerance * self.measure) for angle in angles]
        for plan in sorted(plans, key=lambda plan: plan.nodes):
            if (lines := self._slabs(wavenumber, tolerance, LINES_ARE_WORTH * plan.nodes)) is not None:
                return lines
            if plan.possible:
                return plan.rule()
        return super()._rule(wavenumber, tolerance)


class PolarParams(PackParams):
    radius: ThetaFormula = Field(description="R(theta) > 0, periodic in theta")
    centre: Point = Field((0.0, 0.0), description="the point the domain is star-shaped about")


class StarDomain(RingedDomain):
    """|x − c| < R(θ); segment boundary. ``slope`` is R'."""

    def __init__(self, radius: Radius, slope: Radius, centre: tuple[float, float] = (0.0, 0.0)):
        checked_radius(radius, "the radius")
        self._radius, self._centre = radius, np.array(centre)
        super().__init__([ArcSegment("boundary", [polar_arc(radius, slope, centre)])])

    @property
    def rings(self) -> Rings:
        from gleg_domains.rings import Rings

        return Rings(self._radius, None, self._centre)

    def contains(self, points: Array) -> Array:
        x, y = (np.atleast_2d(np.asarray(points, dtype=float)) - self._centre).T
        return np.hypot(x, y) < self._radius(np.mod(np.arctan2(y, x), TWO_PI))


class Polar(StarDomain):
    """A star-shaped domain from a formula for R(θ)."""

    def __init__(self, params: PolarParams):
        slope = function_of(params.radius.d("theta"), "theta")
        super().__init__(function_of(params.radius, "theta"), slope, params.centre)


class PolarAnnulusParams(PackParams):
    outer: ThetaFormula = Field(description="outer radius as a formula of theta")
    inner: ThetaFormula = Field(description="inner radius as a formula of theta")
    centre: Point = Field((0.0, 0.0), description="common centre of both curves")


class BetweenCurves(RingedDomain):
    """R_in(θ) < |x − c| < R_out(θ); segments outer, inner. Each curve is given as (R, R')."""

    def __init__(
        self, outer: tuple[Radius, Radius], inner: tuple[Radius, Radius], centre: tuple[float, float] = (0.0, 0.0)
    ):
        checked_radius(outer[0], "the outer radius")
        checked_radius(inner[0], "the inner radius")
        theta = TWO_PI * np.arange(2000) / 2000
        far, near = outer[0](theta), inner[0](theta)
        if (at := int(np.argmin(far - near))) >= 0 and far[at] <= near[at]:
            values = f"inner {near[at]:.4g}, outer {far[at]:.4g}"
            raise GeometryError(f"the inner radius must stay below the outer; at theta = {theta[at]:.4g}: {values}")
        self._outer, self._inner, self._centre = outer[0], inner[0], np.array(centre)
        arcs = [polar_arc(*outer, centre), polar_arc(*inner, centre).reversed()]
        super().__init__([ArcSegment(n, [arc]) for n, arc in zip(("outer", "inner"), arcs, strict=True)])

    @property
    def rings(self) -> Rings:
        from gleg_domains.rings import Rings

        return Rings(self._outer, self._inner, self._centre)

    def contains(self, points: Array) -> Array:
        x, y = (np.atleast_2d(np.asarray(points, dtype=float)) - self._centre).T
        r, theta = np.hypot(x, y), np.mod(np.arctan2(y, x), TWO_PI)
        return (r < self._outer(theta)) & (r > self._inner(theta))


class PolarAnnulus(BetweenCurves):
    """The space between two polar curves given by formulas."""

    def __init__(self, params: PolarAnnulusParams):
        outer, inner = (
            (function_of(f, "theta"), function_of(f.d("theta"), "theta")) for f in (params.outer, params.inner)
        )
        super().__init__(outer, inner, params.centre)


class AnnulusParams(PackParams):
    outer: Positive = Field(description="outer radius")
    inner: Positive = Field(description="inner radius, less than the outer")
    centre: Point = Field((0.0, 0.0), description="centre [x, y]")

    @model_validator(mode="after")
    def _nested(self) -> AnnulusParams:
        if self.inner >= self.outer:
            raise ValueError(f"inner must be less than outer, found inner {self.inner:g}, outer {self.outer:g}")
        return self


class Annulus(BetweenCurves):
    """inner < |x − centre| < outer; segments outer, inner."""

    def __init__(self, params: AnnulusParams):
        def constant(value: float) -> Radius:
            return lambda theta: np.full(np.shape(theta), value)

        super().__init__(
            (constant(params.outer), constant(0.0)), (constant(params.inner), constant(0.0)), params.centre
        )
