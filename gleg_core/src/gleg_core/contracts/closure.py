"""Points on ∂Ω, to rounding."""

from collections.abc import Sequence

import numpy as np

from gleg_core.contracts.domain import Curve, Domain

Array = np.ndarray
_NEAR = 1e-9
"""Distance from ∂Ω, in units of the domain's extent, that is rounding."""
_SAMPLES, _NEWTON = 256, 12
"""Pieces of a curve from which the nearest point is looked for, and steps of that."""


def covers(domain: Domain, points: Array) -> Array:
    """Which of the points (n, dim) lie in Ω or on its boundary."""
    found = np.array(domain.contains(points), dtype=bool)
    bounds = domain.bounds
    near = _NEAR * float(np.ptp(bounds, axis=1).max())
    close = ~found & np.all((points >= bounds[:, 0] - near) & (points <= bounds[:, 1] + near), axis=1)
    if not close.any():
        return found
    curves = [segment.curves for segment in domain.segments] if domain.dim == 2 else [None]
    if any(own is None for own in curves):
        stepped = [points[close] + step for step in axis_steps(near, domain.dim)]
        found[close] = np.any([domain.contains(beside) for beside in stepped], axis=0)
    else:
        found[close] = _on(points[close], [curve for own in curves for curve in own or ()], near)
    return found


def axis_steps(length: float, dim: int) -> Array:
    """Steps to both sides along every axis, (2 dim, dim)."""
    return length * np.concatenate([np.eye(dim), -np.eye(dim)])


def _on(points: Array, curves: Sequence[Curve], near: float) -> Array:
    """Which points (n, 2) lie on a curve."""
    found = np.zeros(len(points), dtype=bool)
    for curve in curves:
        s = np.linspace(0.0, 1.0, 2 if curve.straight else _SAMPLES + 1)
        samples = curve.point(s)
        slack = near if curve.straight else near + np.hypot(*np.diff(samples, axis=0).T).max()
        boxed = np.all((points >= samples.min(axis=0) - slack) & (points <= samples.max(axis=0) + slack), axis=1)
        rows = np.flatnonzero(boxed & ~found)
        if len(rows):
            found[rows] = _distances(points[rows], curve, s, samples) <= near
    return found


def _distances(points: Array, curve: Curve, s: Array, samples: Array) -> Array:
    """|p − γ| (n,) of points close to a curve: the foot of the perpendicular is found by Gauss–Newton steps from the nearest sample."""
    if curve.straight:
        along = samples[1] - samples[0]
        foot = np.clip((points - samples[0]) @ along / (along @ along), 0.0, 1.0)
        return np.hypot(*(points - samples[0] - foot[:, None] * along).T)
    at = s[np.argmin(((points[:, None] - samples) ** 2).sum(axis=2), axis=1)]
    h = 1e-6
    for _ in range(_NEWTON):
        low, high = np.maximum(at - h, 0.0), np.minimum(at + h, 1.0)
        slope = (curve.point(high) - curve.point(low)) / (high - low)[:, None]
        size = np.maximum((slope**2).sum(axis=1), 1e-300)
        step = ((points - curve.point(at)) * slope).sum(axis=1) / size
        at = np.clip(at + np.clip(step, -s[1], s[1]), 0.0, 1.0)
    return np.hypot(*(points - curve.point(at)).T)
