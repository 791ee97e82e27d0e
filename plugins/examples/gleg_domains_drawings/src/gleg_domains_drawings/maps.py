"""The kind ``map``: a lake or region of a GeoJSON map, in kilometres on a plane that touches the Earth at its centre."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import shapely

from gleg_core.errors import GeometryError
from gleg_domains_drawings.arcs import bezier, interpolated
from gleg_domains_drawings.branches import Loop
from gleg_domains_drawings.geojson import in_degrees, read_rings
from gleg_domains_drawings.params import MapParams
from gleg_domains_drawings.region import Region, check_size, filled

Array = np.ndarray
EARTH = 6371.0088
"""Mean radius of the Earth, km."""
FARTHEST = 3000.0
"""Largest distance from the centre, km: there the map is 4 % too wide across."""


def map_domain(params: MapParams) -> Region:
    """Outer boundary ``shore``, holes ``island-1``, …"""
    file = Path(params.path)
    rings, what = read_rings(file, params.feature, params.part)
    centre = np.array(params.centre) if params.centre else _centroid(rings[0], what)
    shores = [azimuthal_equidistant(ring, centre) for ring in rings]
    distance = float(np.linalg.norm(np.concatenate(shores), axis=1).max())
    if distance > FARTHEST:
        raise GeometryError(
            f"{what} reaches {distance:.0f} km from the centre ({centre[0]:.4g}, {centre[1]:.4g}); a plane map of that "
            f"is badly distorted, at most {FARTHEST:.0f} km are possible"
        )
    check_size(np.concatenate(shores), what)
    if params.simplify:
        shores = [_simplified(shore, params.simplify, what) for shore in shores]
    try:
        loops = filled([_spline(shore) if params.smooth else _edges(shore) for shore in shores], True, what)
    except GeometryError as error:
        hint = "; try simplify, or leave out smooth" if params.smooth else ""
        raise GeometryError(f"{error}{hint}") from None
    return Region(loops, {f"island-{i}" if i else "shore": loop for i, loop in enumerate(loops)})


def azimuthal_equidistant(degrees: Array, centre: Array) -> Array:
    """(longitude, latitude) (n, 2) → (x east, y north) in km: distance and bearing from the centre are true on a sphere.

    With c the angle from the centre, x = R c/sin c · cos φ sin(λ − λ0), y = R c/sin c · (cos φ0 sin φ − sin φ0 cos φ cos(λ − λ0)).
    """
    (lam, phi), (lam0, phi0) = np.deg2rad(degrees).T, np.deg2rad(centre)
    east = np.cos(phi) * np.sin(lam - lam0)
    north = np.cos(phi0) * np.sin(phi) - np.sin(phi0) * np.cos(phi) * np.cos(lam - lam0)
    up = np.sin(phi0) * np.sin(phi) + np.cos(phi0) * np.cos(phi) * np.cos(lam - lam0)
    sine = np.hypot(east, north)
    with np.errstate(invalid="ignore", divide="ignore"):
        stretch = np.where(sine > 0, np.arctan2(sine, up) / sine, 1.0)
    return EARTH * np.column_stack([stretch * east, stretch * north])


def _centroid(ring: Array, what: str) -> Array:
    """Centroid in longitude and latitude."""
    shape = in_degrees(ring)
    if abs(np.unwrap(ring[:, 0], period=360.0)[-1] - ring[0, 0]) > 180:
        raise GeometryError(f"{what} goes round a pole; give the centre of the map as centre: [longitude, latitude]")
    point = shape.centroid if shape.area > 0 else shape.envelope.centroid
    return np.array([point.x, point.y])


def _simplified(shore: Array, tolerance: float, what: str) -> Array:
    less = shapely.simplify(shapely.Polygon(shore), tolerance, preserve_topology=True)
    if less.is_empty:
        raise GeometryError(
            f"{what}: nothing is left of a shore with simplify = {tolerance:g} km; choose a smaller one"
        )
    return np.array(less.exterior.coords)


def _edges(shore: Array) -> Loop:
    """Straight edges through the closed list of vertices (n + 1, 2)."""
    return [bezier((a, b)) for a, b in pairwise(shore) if (a != b).any()]


def _spline(shore: Array) -> Loop:
    """The closed cubic spline through the vertices, in a parameter that grows by the root of the distance (centripetal)."""
    from scipy.interpolate import CubicSpline

    steps = np.linalg.norm(np.diff(shore, axis=0), axis=1)
    vertices = shore[:-1][steps > 0]
    s = np.concatenate([[0.0], np.cumsum(np.sqrt(steps[steps > 0]))])
    curve = CubicSpline(s, np.concatenate([vertices, vertices[:1]]), bc_type="periodic")
    return [interpolated(lambda u, a=a, b=b: curve(a + (b - a) * u), 3) for a, b in pairwise(s)]  # type: ignore[misc]
