"""Star-shaped domains r < R(θ) and the space between two such curves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from pydantic import Field

from gleg_core.errors import GeometryError
from gleg_core.expressions import Expression
from gleg_core.spec.params import PackParams, formula_over
from gleg_domains.arcs import TWO_PI, polar_arc
from gleg_domains.planar import ArcSegment, PlanarDomain
from gleg_domains.simple import Point

Array = np.ndarray
Radius = Callable[[Array], Array]
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
        raise GeometryError(f"{what} is {r[~np.isfinite(r)][0]} at theta = {theta[~np.isfinite(r)][0]:.4g}; it must be finite")
    if r.min() <= 0:
        at = int(np.argmin(r))
        raise GeometryError(f"{what} is {r[at]:.4g} at theta = {theta[at]:.4g}; it must be positive for all theta")
    if abs(ends[1] - ends[0]) > 1e-10 * r.max():
        raise GeometryError(
            f"{what} is {ends[0]:.6g} at theta = 0 but {ends[1]:.6g} at theta = 2π; it must be periodic in theta"
        )


class PolarParams(PackParams):
    radius: ThetaFormula = Field(description="R(theta) > 0, periodic in theta")  # type: ignore[valid-type]
    centre: Point = Field((0.0, 0.0), description="the point the domain is star-shaped about")


class StarDomain(PlanarDomain):
    """|x − c| < R(θ); segment boundary. ``slope`` is R'."""

    def __init__(self, radius: Radius, slope: Radius, centre: tuple[float, float] = (0.0, 0.0)):
        checked_radius(radius, "the radius")
        self._radius, self._centre = radius, np.array(centre)
        super().__init__([ArcSegment("boundary", [polar_arc(radius, slope, centre)])])

    def contains(self, points: Array) -> Array:
        x, y = (np.atleast_2d(np.asarray(points, dtype=float)) - self._centre).T
        return np.hypot(x, y) < self._radius(np.mod(np.arctan2(y, x), TWO_PI))


class Polar(StarDomain):
    """A star-shaped domain from a formula for R(θ)."""

    def __init__(self, params: PolarParams):
        slope = function_of(params.radius.d("theta"), "theta")
        super().__init__(function_of(params.radius, "theta"), slope, params.centre)


class PolarAnnulusParams(PackParams):
    outer: ThetaFormula = Field(description="outer radius as a formula of theta")  # type: ignore[valid-type]
    inner: ThetaFormula = Field(description="inner radius as a formula of theta")  # type: ignore[valid-type]
    centre: Point = Field((0.0, 0.0), description="common centre of both curves")


class BetweenCurves(PlanarDomain):
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
