"""Domains inside a smooth closed curve (x(s), y(s)), 0 ≤ s < 2π, with optional holes."""

from collections.abc import Callable

import numpy as np
from pydantic import Field

from gleg_core.errors import GeometryError
from gleg_core.expressions import Expression
from gleg_core.spec.params import PackParams, formula_over
from gleg_domains.arcs import TWO_PI, Arc, evaluated
from gleg_domains.loops import checked
from gleg_domains.planar import ArcSegment, PlanarDomain
from gleg_domains.polar import SHARP, sharpness

Array = np.ndarray


class LoopParams(PackParams):
    x: formula_over("s") = Field(description="x(s), 0 ≤ s < 2π, smooth and periodic")  # type: ignore[valid-type]
    y: formula_over("s") = Field(description="y(s)")  # type: ignore[valid-type]


class CurveParams(LoopParams):
    holes: tuple[LoopParams, ...] = Field((), description="closed curves cut out of the domain, each with x and y")


def formula_arc(x: Expression, y: Expression, start: float = 0.0, stop: float = TWO_PI, closed: bool = True) -> Arc:
    """(x(s), y(s)), start ≤ s ≤ stop."""

    def columns(*formulas: Expression) -> Callable[[Array], Array]:
        return lambda s: np.column_stack([evaluated(f, s=s) for f in formulas])

    return Arc(columns(x, y), columns(x.d("s"), y.d("s")), start, stop, closed)


def closed_arc(x: Expression, y: Expression, what: str) -> Arc:
    """The arc of two formulas, checked to be closed, finite and regular (γ' ≠ 0)."""
    arc = formula_arc(x, y)
    s, both = TWO_PI * np.arange(2000) / 2000, np.array([0.0, TWO_PI])
    with np.errstate(all="ignore"):
        points, speed = arc.point(s), arc.speed(s)
        ends, end_velocities = arc.point(both), arc.velocity(both)
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
    if sharpness(points) > SHARP:
        raise GeometryError(f"{what} is not smooth: it has a corner; combine several domains instead")
    if np.abs(end_velocities[1] - end_velocities[0]).max() > 1e-7 * speed.max():
        raise GeometryError(f"{what} has a corner at s = 0: x' and y' must be periodic too")
    return arc


class Curve(PlanarDomain):
    """The inside of a smooth closed curve, either orientation; segments boundary, hole0, hole1, …"""

    def __init__(self, params: CurveParams):
        outer = closed_arc(params.x, params.y, "the curve")
        holes = [closed_arc(h.x, h.y, f"hole {i} of the curve") for i, h in enumerate(params.holes)]
        loops = checked([[outer], *([h] for h in holes)], "curve")
        super().__init__([ArcSegment(f"hole{i - 1}" if i else "boundary", loop) for i, loop in enumerate(loops)])
