"""Arcs cut at their horizontal tangents: on each part x is a function of y."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from gleg_domains.arcs import Arc
from gleg_domains.roots import Table, bracketed, inverted

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class MonotoneArc:
    """A part of an arc on which y(s) is monotone, with points (n, 2) in a ``table`` of y(s).

    At the low and at the high end: ``joints``, a token shared by two parts that meet at a smooth extremum of y, else None;
    ``level_ends``, whether the tangent is horizontal (x behaves like a square root).
    """

    arc: Arc
    table: Table
    points: Array
    joints: tuple[object, object]
    level_ends: tuple[bool, bool]

    @property
    def low(self) -> float:
        return float(self.table.y[0])

    @property
    def high(self) -> float:
        return float(self.table.y[-1])

    def x_at(self, y: Array) -> Array:
        """x on the arc at heights y, shape (n,)."""
        return abscissae([(self, y)])[0]

    def straight_x(self, y: Array) -> Array:
        fraction = (y - self.low) / (self.high - self.low)
        return self.points[0, 0] * (1 - fraction) + self.points[-1, 0] * fraction


def abscissae(asked: Sequence[tuple[MonotoneArc, Array]]) -> list[Array]:
    """x on each part at its heights, (n_i,): the equations of all parts of an arc are solved together."""
    x: list[Array] = [part.straight_x(y) if part.arc.straight else y for part, y in asked]
    members: dict[int, list[int]] = {}
    for i, (part, _) in enumerate(asked):
        if not part.arc.straight:
            members.setdefault(id(part.arc), []).append(i)
    for rows in members.values():
        arc = asked[rows[0]][0].arc
        tables = [(asked[i][0].table, asked[i][1]) for i in rows]
        s = inverted(lambda s, arc=arc: tuple(f[:, 1] for f in arc.jet(s)), tables)  # type: ignore[misc]
        ends = np.cumsum([len(asked[i][1]) for i in rows])[:-1]
        for i, part_x in zip(rows, np.split(arc.point(s)[:, 0], ends), strict=True):
            x[i] = part_x
    return x


def monotone_parts(arcs: Iterable[Arc]) -> list[MonotoneArc]:
    """All arcs cut at y' = 0; horizontal edges are left out."""
    parts: list[MonotoneArc] = []
    for arc in arcs:
        cuts = level_points(arc)
        joints = [object() for _ in cuts]
        if arc.closed:
            parts += _parts(arc, np.append(cuts, cuts[:1] + arc.span), [*joints, *joints[:1]])
        else:
            parts += _parts(arc, np.concatenate([[arc.start], cuts, [arc.stop]]), [None, *joints, None])
    return [p for p in parts if p.high - p.low > 1e-15 * np.ptp(p.points[:, 0])]


def _parts(arc: Arc, knots: Array, joints: Sequence[object]) -> list[MonotoneArc]:
    """The parts between consecutive knots; nodes of the tables crowd at their ends, where y may be quadratic in s."""
    crowded = 0.5 * (1 - np.cos(np.linspace(0, np.pi, 2 if arc.straight else 129)))
    s = knots[:-1, None] + np.diff(knots)[:, None] * crowded
    points, velocity = (f.reshape(*s.shape, 2) for f in arc.jet(s.ravel()))
    level = np.abs(velocity[..., 1]) <= (0.0 if arc.straight else 1e-9) * np.hypot(velocity[..., 0], velocity[..., 1])
    parts = []
    for i in range(len(s)):
        rising = points[i, -1, 1] >= points[i, 0, 1]
        way = slice(None) if rising else slice(None, None, -1)
        table = Table(s[i, way], np.maximum.accumulate(points[i, way, 1]), velocity[i, way, 1])
        low, high = joints[i : i + 2][way]
        ends = bool(level[i, way][0]), bool(level[i, way][-1])
        parts.append(MonotoneArc(arc, table, points[i, way], (low, high), ends))
    return parts


def level_points(arc: Arc, axis: int = 1) -> Array:
    """Parameters strictly inside the arc (anywhere, if closed) where y', or x' for axis 0, changes sign, sorted. An arc keeps them, also
    for its images by quarter turns."""
    if arc.straight:
        return np.zeros(0)
    if axis not in arc.kept:
        source, old = _unturned(arc, axis)
        arc.kept[axis] = _level_points(arc, axis) if source is arc else level_points(source, old)
    return arc.kept[axis]


def _unturned(arc: Arc, axis: int) -> tuple[Arc, int]:
    """The arc whose image by a quarter turn this is, and its axis that became ``axis``; the arc itself if there is none."""
    if arc.image is None:
        return arc, axis
    source, matrix = arc.image
    old = int(np.argmax(np.abs(matrix[axis])))
    whole = (source.start, source.stop, source.closed) == (arc.start, arc.stop, arc.closed)
    return (source, old) if whole and not matrix[axis, 1 - old] else (arc, axis)


def _level_points(arc: Arc, axis: int) -> Array:
    s = arc.start + arc.span * np.linspace(0, 1, 769)
    if not arc.closed:  # an extremum at an end is not a cut
        inset = 1e-12 * arc.span
        s[0], s[-1] = s[0] + inset, s[-1] - inset
    rise = arc.velocity(s)[:, axis]
    if arc.closed:
        rise[-1] = rise[0]
    change = np.nonzero((rise[:-1] < 0) != (rise[1:] < 0))[0]
    cuts = bracketed(lambda s: arc.velocity(s)[:, axis], s[change], s[change + 1], rise[change], rise[change + 1])
    return np.sort(cuts)


def crossings(parts: Iterable[MonotoneArc], points: Array) -> Array:
    """How many parts lie strictly to the left of each point (n, 2): odd inside, even outside."""
    x, y = points[:, 0], points[:, 1]
    count = np.zeros(len(points), dtype=int)
    for part in parts:
        rows = np.nonzero((y >= part.low) & (y < part.high))[0]
        if not len(rows):
            continue
        xr, yr = x[rows], y[rows]
        if part.arc.straight:
            count[rows] += part.x_at(yr) < xr
            continue
        # Between two table entries x lies within the box they span, widened by one sagitta: invert only close calls.
        x_table, y_table = part.points[:, 0], part.table.y
        cell = part.table.cell(yr)
        one, two = x_table[cell], x_table[cell + 1]
        lo, hi = np.minimum(one, two), np.maximum(one, two)
        pad = 0.25 * (hi - lo) + 0.25 * (y_table[cell + 1] - y_table[cell])
        left = hi + pad < xr
        close = np.nonzero(~left & (lo - pad <= xr))[0]
        if len(close):
            left[close] = part.x_at(yr[close]) < xr[close]
        count[rows] += left
    return count
