"""Domains inside a closed curve (x(s), y(s)), 0 ≤ s < 2π, smooth but for corners, with optional holes."""

from collections.abc import Sequence

import numpy as np
from pydantic import Field

from gleg_core.errors import GeometryError
from gleg_core.expressions import Expression
from gleg_core.spec.params import PackParams, formula_over
from gleg_domains.arcs import TWO_PI, Arc, evaluated
from gleg_domains.kinks import kinks, parted, periodic
from gleg_domains.loops import checked
from gleg_domains.planar import ArcSegment, PlanarDomain
from gleg_domains.polar import SHARP, sharpness

Array = np.ndarray


class LoopParams(PackParams):
    x: formula_over("s") = Field(description="x(s), 0 ≤ s < 2π, periodic; the curve may have corners")  # type: ignore[valid-type]
    y: formula_over("s") = Field(description="y(s)")  # type: ignore[valid-type]


class CurveParams(LoopParams):
    holes: tuple[LoopParams, ...] = Field((), description="closed curves cut out of the domain, each with x and y")


def formula_arc(x: Expression, y: Expression, start: float = 0.0, stop: float = TWO_PI, closed: bool = True) -> Arc:
    """(x(s), y(s)), start ≤ s ≤ stop."""

    place, slope = (x, y), (x.d("s"), y.d("s"))

    def columns(formulas: Sequence[Expression], s: Array) -> Array:
        return np.column_stack(evaluated(formulas, s=s))

    def together(s: Array) -> tuple[Array, Array]:
        values = columns((*place, *slope), s)
        return values[:, :2], values[:, 2:]

    return Arc(lambda s: columns(place, s), lambda s: columns(slope, s), start, stop, closed, together=together)


def closed_loop(x: Expression, y: Expression, what: str) -> list[Arc]:
    """The smooth arcs of the curve of two formulas, checked to be closed, finite and regular (γ' ≠ 0)."""
    arc = formula_arc(x, y)
    s, both = TWO_PI * np.arange(2000) / 2000, np.array([0.0, TWO_PI])
    with np.errstate(all="ignore"):
        points, speed = arc.point(s), arc.speed(s)
        ends = arc.point(both)
    if not np.isfinite(points).all():
        at = s[~np.isfinite(points).all(axis=1)][0]
        raise GeometryError(f"{what} is not finite at s = {at:.4g}")
    size = np.ptp(points, axis=0).max()
    if np.abs(ends[1] - ends[0]).max() > 1e-10 * max(size, 1e-300):
        a, b = (f"({p[0]:.6g}, {p[1]:.6g})" for p in ends)
        raise GeometryError(f"{what} is not closed: it starts at {a} for s = 0 and ends at {b} for s = 2π")
    if not np.isfinite(speed).all() or speed.min() <= 1e-9 * size:
        at = s[int(np.argmin(np.nan_to_num(speed, nan=0.0)))]
        raise GeometryError(f"{what} has a cusp or stands still at s = {at:.4g}: (x', y') must not vanish")
    arc = periodic(arc)
    with np.errstate(all="ignore"):
        knots = kinks(arc, what)
    if not knots and sharpness(points) > SHARP:
        raise GeometryError(f"{what} is not smooth, and not for its corners; combine several domains instead")
    return parted(arc, knots)


class Curve(PlanarDomain):
    """The inside of a closed curve, either orientation; segments boundary, hole0, hole1, …"""

    def __init__(self, params: CurveParams):
        outer = closed_loop(params.x, params.y, "the curve")
        holes = [closed_loop(h.x, h.y, f"hole {i} of the curve") for i, h in enumerate(params.holes)]
        loops = checked([outer, *holes], "curve")
        super().__init__([ArcSegment(f"hole{i - 1}" if i else "boundary", loop) for i, loop in enumerate(loops)])
