"""The box Q around a domain: bounds from a problem file, and how much of it a domain may use. No torch, so that files are checked fast."""

from typing import Any

import numpy as np

PERIODIC_REACH = 0.98
"""Largest part of the half width of a periodic box that a domain may reach: beyond it the opposite side is a neighbour."""
OUTSIDE = "lies outside the box Q"
_ROUNDING = 1e-12
"""Parts of the half width by which a point on the edge may seem to be beyond it."""


def wrong_reach(reach: float, periodic: bool) -> str:
    """What is wrong with a domain, or a point of it, at this part of the half width; empty if nothing is."""
    if reach > 1 + _ROUNDING:
        return OUTSIDE
    return "touches the edge of the periodic box Q" if periodic and reach > PERIODIC_REACH + _ROUNDING else ""


def box_bounds(box: Any, dim: int) -> np.ndarray:
    """(dim, 2) of [low, high], or of ``dim`` such pairs, as validated problems have them."""
    bounds = np.array(box, dtype=float)
    return np.tile(bounds, (dim, 1)) if bounds.shape == (2,) else bounds
