"""Placing the physical domain in the box Q: translation, scaling and, if it helps, rotation."""

import math

import numpy as np

from gleg_core.box import OUTSIDE, PERIODIC_REACH, wrong_reach
from gleg_core.contracts.basis import Frame
from gleg_core.contracts.domain import Domain
from gleg_core.errors import GeometryError

_ROTATION_GAIN = 0.9
"""A rotation is used only if it shrinks the box below this fraction."""
_BULGE = 1e-3
"""Least margin around an outline of 400 points per segment."""


def outline(domain: Domain, per_segment: int = 400) -> np.ndarray:
    """Points along ∂Ω, shape (n, dim)."""
    points = np.concatenate([s.outline(per_segment) for s in domain.segments])
    return points[np.isfinite(points).all(axis=1)]  # NaN rows part the pieces of a segment


def fit_frame(domain: Domain, *, margin: float, isotropic: bool, rotate: bool | float) -> Frame:
    """The smallest box around Ω such that Ω stays within |ξ_i| ≤ 1 − margin.

    ``rotate`` is an angle in radians (two dimensions), True to look for a helpful one, or False.
    """
    angle = _helpful_angle(outline(domain)) if rotate is True else float(rotate)
    rotation = _rotation(angle, domain.dim)
    if angle == 0.0:
        low, high = domain.bounds.T
    else:  # an outline is a polygon: the curve between its points may bulge a little further
        local = outline(domain) @ rotation
        low, high = local.min(axis=0), local.max(axis=0)
        margin = max(margin, _BULGE)
    half = (high - low) / 2 / (1 - margin)
    if isotropic:
        half = np.full(domain.dim, half.max())
    return Frame(rotation @ ((low + high) / 2), half, rotation)


def _rotation(angle: float, dim: int) -> np.ndarray:
    if dim != 2 or angle == 0.0:
        return np.eye(dim)
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s], [s, c]])


def _helpful_angle(points: np.ndarray) -> float:
    """The angle (multiple of 1°) whose square box is smallest, or 0 if the gain is small."""
    if points.shape[1] != 2:
        return 0.0
    angles = np.deg2rad(np.arange(180))
    widths = np.ptp(points @ np.stack([np.cos(angles), np.sin(angles)]), axis=0)
    sizes = np.maximum(widths[:90], widths[90:])  # of the box at an angle: its sides are at right angles
    best = int(np.argmin(sizes))
    return float(angles[best]) if sizes[best] < _ROTATION_GAIN * sizes[0] else 0.0


def check_inside(frame: Frame, points: np.ndarray, *, periodic: bool, what: str) -> None:
    """Refuse points outside Q, and points on the edge of a periodic Q."""
    reach = np.abs(frame.to_reference(points)).max(axis=1)
    worst = int(reach.argmax())
    if wrong := wrong_reach(reach[worst], periodic):
        place = ", ".join(f"{c:.4g}" for c in points[worst])
        advice = "): enlarge space.box or leave it out, so that it is fitted"
        if wrong != OUTSIDE:
            advice = (
                f", at most {PERIODIC_REACH:g} is possible): enlarge space.box, or leave it out and give space.margin at least "
                f"{1 - PERIODIC_REACH:.2g}"
            )
        raise GeometryError(f"{what} at ({place}) {wrong} (at {reach[worst]:.3g} of its half width{advice}").at("space")
