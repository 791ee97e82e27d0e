"""Closed curves from formulas that have kinks, like |sin θ| or max(a, b): found, and cut into smooth arcs there."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from gleg_core.errors import GeometryError
from gleg_domains.arcs import TWO_PI, Arc

Array = np.ndarray
Velocity = Callable[[Array], Array]
_SAMPLES, _ZOOM, _MOST = 2000, 33, 500
_JUMP = 1e-6
"""Velocities that jump by less than this part of the largest are smooth."""
_INSET = 1e-12
"""How far from a kink a velocity is taken, as a part of the period."""
_STEEPER = 1.5
"""A velocity that grows by such a factor from 1e-5 to 1e-8 beside a kink has no limit there."""


def periodic(arc: Arc) -> Arc:
    """A closed arc with the period 2π from 0 whose formulas need not be periodic outside."""

    def together(s: Array) -> tuple[Array, Array]:
        return arc.jet(np.mod(s, TWO_PI))

    return replace(
        arc,
        point=lambda s: arc.point(np.mod(s, TWO_PI)),
        velocity=lambda s: arc.velocity(np.mod(s, TWO_PI)),
        together=together,
    )


def kinks(arc: Arc, what: str) -> list[float]:
    """Parameters of a closed arc where its velocity jumps, sorted.

    Third differences of the velocity at equal steps stand out there; the places where they do most are looked at ever more closely,
    and what still differs across a few roundings is a jump.
    """
    step = arc.span / _SAMPLES
    s = arc.start + step * (np.arange(_SAMPLES) + 0.38)
    velocity = arc.velocity(s)
    size = float(np.abs(velocity).max())
    third = np.hypot(
        *(velocity - 3 * np.roll(velocity, 1, 0) + 3 * np.roll(velocity, 2, 0) - np.roll(velocity, 3, 0)).T
    )
    peaks = (third >= np.roll(third, 1)) & (third >= np.roll(third, -1)) & (third > 1e-7 * size)
    at = np.flatnonzero(peaks)
    at = at[np.argsort(-third[at])][:_MOST]
    middle, width = s[at] - 1.5 * step, 4 * step
    grid = np.linspace(-0.5, 0.5, _ZOOM)
    while len(at) and width > 1e-14 * arc.span:
        near = middle[:, None] + width * grid
        v = arc.velocity(near.ravel()).reshape(*near.shape, 2)
        jump = np.linalg.norm(np.diff(v, 3, axis=1), axis=2)
        k = np.argmax(jump, axis=1)
        middle, width = middle + width * 0.5 * (grid[k + 1] + grid[k + 2]), width * 6 / (_ZOOM - 1)
    found = arc.start + np.mod(middle - arc.start, arc.span)
    gaps = [np.linalg.norm(_beside(arc, found, d) - _beside(arc, found, -d), axis=1) for d in (1e-11, 1e-8)]
    found = np.sort(found[(gaps[0] > _JUMP * size) & (gaps[0] > 0.5 * gaps[1])])
    found = found[np.append(True, np.diff(found) > 1e-10 * arc.span)] if len(found) else found
    if len(found) > 1 and found[0] + arc.span - found[-1] < 1e-10 * arc.span:
        found = found[:-1]
    for side in (-1, 1):
        speeds = [np.linalg.norm(_beside(arc, found, side * d), axis=1) for d in (1e-5, 1e-8)]
        if (steep := ~(speeds[1] <= _STEEPER * speeds[0])).any():
            raise GeometryError(
                f"{what} has a cusp at {found[steep][0]:.4g}; only corners with finite slopes are possible"
            )
    gap = np.linalg.norm(arc.point(found + 1e-13 * arc.span) - arc.point(found - 1e-13 * arc.span), axis=1)
    if (gap > 1e-10 * size).any():
        raise GeometryError(f"{what} jumps at {found[int(np.argmax(gap))]:.4g}; the curve must be closed")
    if len(found) and (len(at) == _MOST or np.median(third) > 0.1 * size):
        raise GeometryError(f"{what} has too many corners: not all of them can be found")
    return found.tolist()


def _beside(arc: Arc, s: Array, part: float) -> Array:
    """γ' at a part of the period beside s, (n, 2)."""
    return arc.velocity(s + part * arc.span)


def parted(arc: Arc, knots: Sequence[float]) -> list[Arc]:
    """A closed arc as smooth arcs between ``knots``, sorted; itself if there are none."""
    ends = [*knots, *(k + arc.span for k in knots[:1])]
    return [_between(arc, a, b) for a, b in pairwise(ends)] or [arc]


def _between(arc: Arc, start: float, stop: float) -> Arc:
    """The part of an arc between two kinks, whose velocity at a kink is that on its own side."""
    inset = _INSET * arc.span

    def inner(s: Array) -> Array:
        return np.clip(s, start + inset, stop - inset)

    def together(s: Array) -> tuple[Array, Array]:
        point, velocity = arc.jet(c := inner(s))
        return point + (s - c)[:, None] * velocity, velocity

    return Arc(lambda s: together(s)[0], lambda s: arc.velocity(inner(s)), start, stop, together=together)
