"""Arcs cut at their horizontal tangents: on each part x is a function of y."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gleg_domains.arcs import Arc

Array = np.ndarray
_SAMPLES = 768
_TABLE = 97
_LEVEL = 1e-9
"""|y'|/|γ'| below this at an end counts as a horizontal tangent."""


@dataclass(frozen=True, eq=False)
class MonotoneArc:
    """A part s0 ≤ s ≤ s1 of an arc on which y(s) is monotone.

    ``low_joint``, ``high_joint``: a token shared by two parts that meet at a smooth extremum of y, else None.
    """

    arc: Arc
    s0: float
    s1: float
    low_joint: object | None
    high_joint: object | None

    @cached_property
    def _table(self) -> tuple[Array, Array]:
        """Parameters and heights with y increasing; nodes crowd at the ends, where y may be quadratic in s."""
        s = self.s0 + (self.s1 - self.s0) * 0.5 * (
            1 - np.cos(np.linspace(0, np.pi, 2 if self.arc.straight else _TABLE))
        )
        y = self.arc.point(s)[:, 1]
        if y[0] > y[-1]:
            s, y = s[::-1], y[::-1]
        return s, np.maximum.accumulate(y)

    @property
    def low(self) -> float:
        return float(self._table[1][0])

    @property
    def high(self) -> float:
        return float(self._table[1][-1])

    @cached_property
    def level_ends(self) -> tuple[bool, bool]:
        """Whether the tangent is horizontal at the low and at the high end (x behaves like a square root)."""
        if self.arc.straight:
            return False, False
        s = self._table[0][[0, -1]]
        v = self.arc.velocity(s)
        low, high = np.abs(v[:, 1]) <= _LEVEL * np.hypot(v[:, 0], v[:, 1])
        return bool(low), bool(high)

    def x_at(self, y: Array) -> Array:
        """x on the arc at heights y, shape (n,); safeguarded Newton in s."""
        s_table, y_table = self._table
        if self.arc.straight:
            ends = self.arc.point(s_table)
            fraction = (y - y_table[0]) / (y_table[-1] - y_table[0])
            return ends[0, 0] * (1 - fraction) + ends[-1, 0] * fraction
        return self.arc.point(self.parameter_at(y))[:, 0]

    def parameter_at(self, y: Array) -> Array:
        s_table, y_table = self._table
        cell = np.clip(np.searchsorted(y_table, y, side="right") - 1, 0, len(y_table) - 2)
        a, b = s_table[cell], s_table[cell + 1]
        rise = y_table[cell + 1] - y_table[cell]
        s = a + (b - a) * np.clip((y - y_table[cell]) / np.where(rise > 0, rise, 1.0), 0, 1)
        for _ in range(40):
            miss = self.arc.point(s)[:, 1] - y
            a, b = np.where(miss < 0, s, a), np.where(miss < 0, b, s)
            slope = self.arc.velocity(s)[:, 1]
            with np.errstate(divide="ignore", invalid="ignore"):
                step = s - miss / slope
            inside = (step - a) * (step - b) <= 0
            new = np.where(inside & np.isfinite(step), step, 0.5 * (a + b))
            # Newton's method squares the error: after a step this small the next one would be rounding.
            done = (np.abs(new - s) <= 1e-11 * abs(self.s1 - self.s0)) | (miss == 0)
            s = new
            if done.all():
                break
        return s


def monotone_parts(arcs: Iterable[Arc]) -> list[MonotoneArc]:
    """All arcs cut at y' = 0; horizontal edges are left out."""
    parts: list[MonotoneArc] = []
    for arc in arcs:
        if arc.straight:
            rise = arc.velocity(np.array([arc.start]))[0]
            if abs(rise[1]) > 1e-15 * abs(rise[0]):
                parts.append(MonotoneArc(arc, arc.start, arc.stop, None, None))
            continue
        parts += _curved_parts(arc)
    return [p for p in parts if p.high > p.low]


def _curved_parts(arc: Arc) -> list[MonotoneArc]:
    cuts = level_points(arc)
    if arc.closed:
        if not len(cuts):
            return []
        knots = np.append(cuts, cuts[0] + arc.span)
        joints: list[object | None] = [object() for _ in cuts]
        joints.append(joints[0])
    else:
        knots = np.concatenate([[arc.start], cuts, [arc.stop]])
        joints = [None, *(object() for _ in cuts), None]
    parts = []
    heights = arc.point(knots)[:, 1]
    for i in range(len(knots) - 1):
        rising = heights[i + 1] >= heights[i]
        low, high = (joints[i], joints[i + 1]) if rising else (joints[i + 1], joints[i])
        parts.append(MonotoneArc(arc, knots[i], knots[i + 1], low, high))
    return parts


def level_points(arc: Arc) -> Array:
    """Parameters strictly inside the arc (anywhere, if closed) where y' changes sign, sorted."""
    s = arc.start + arc.span * np.linspace(0, 1, _SAMPLES + 1)
    if not arc.closed:  # an extremum at an end is not a cut
        inset = 1e-12 * arc.span
        s[0], s[-1] = s[0] + inset, s[-1] - inset
    rise = arc.velocity(s)[:, 1]
    if arc.closed:
        s, rise = s[:-1], rise[:-1]
        s, rise = np.append(s, s[0] + arc.span), np.append(rise, rise[0])
    change = np.nonzero((rise[:-1] < 0) != (rise[1:] < 0))[0]
    a, b = s[change].copy(), s[change + 1].copy()
    falling = rise[change] > 0
    for _ in range(60):
        middle = 0.5 * (a + b)
        if not len(middle):
            break
        positive = arc.velocity(middle)[:, 1] > 0
        left = positive == falling
        a, b = np.where(left, middle, a), np.where(left, b, middle)
    return np.sort(0.5 * (a + b))


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
        s_table, y_table = part._table
        x_table = part.arc.point(s_table)[:, 0]
        cell = np.clip(np.searchsorted(y_table, yr, side="right") - 1, 0, len(y_table) - 2)
        near, far = x_table[cell], x_table[cell + 1]
        lo, hi = np.minimum(near, far), np.maximum(near, far)
        pad = 0.25 * (hi - lo) + 0.25 * (y_table[cell + 1] - y_table[cell])
        left = hi + pad < xr
        close = np.nonzero(~left & (lo - pad <= xr))[0]
        if len(close):
            left[close] = part.x_at(yr[close]) < xr[close]
        count[rows] += left
    return count
