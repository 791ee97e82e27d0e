"""GeoJSON maps: projection, areas of spherical caps, islands, parts, simplification, splines."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gleg_domains_drawings.maps import EARTH, azimuthal_equidistant
from gleg_domains_drawings.region import Region

Chart = Callable[..., Region]
CENTRE = (6.6, 46.4)


def circle(radius: float, n: int, centre: tuple[float, float] = CENTRE) -> list[list[float]]:
    """A closed ring of n points at ``radius`` km from the centre on the sphere, in degrees, by spherical trigonometry."""
    lam, phi = np.deg2rad(centre)
    bearing = 2 * np.pi * np.arange(n) / n
    c = radius / EARTH
    latitude = np.arcsin(np.sin(phi) * np.cos(c) + np.cos(phi) * np.sin(c) * np.cos(bearing))
    east = np.sin(bearing) * np.sin(c) * np.cos(phi)
    longitude = lam + np.arctan2(east, np.cos(c) - np.sin(phi) * np.sin(latitude))
    wrapped = (np.rad2deg(longitude) + 180) % 360 - 180
    ring = np.column_stack([wrapped, np.rad2deg(latitude)]).tolist()
    return [*ring, ring[0]]


def polygon(*rings: list[list[float]]) -> dict:
    return {"type": "Polygon", "coordinates": list(rings)}


def cap_area(radius: float) -> float:
    """2πR²(1 − cos(a/R)), without cancellation."""
    return 4 * np.pi * EARTH**2 * np.sin(0.5 * radius / EARTH) ** 2


@pytest.mark.parametrize("radius", [10.0, 200.0, 1500.0])
def test_a_round_lake_has_the_area_of_its_cap_up_to_the_projection(chart: Chart, radius: float) -> None:
    """πa² on the plane against the cap: too large by a²/(12R²) and higher powers; the spline adds 1e-8."""
    domain = chart(polygon(circle(radius, 200)), smooth=True, centre=CENTRE)
    assert domain.measure == pytest.approx(np.pi * radius**2, rel=3e-8)
    excess = domain.measure / cap_area(radius) - 1
    assert excess == pytest.approx(radius**2 / (12 * EARTH**2), rel=0.02, abs=3e-8)


def test_the_centroid_is_a_good_centre(chart: Chart) -> None:
    own, given = (chart(polygon(circle(30.0, 100)), smooth=True, **keys) for keys in ({}, {"centre": CENTRE}))
    assert np.abs(own.bounds).max() == pytest.approx(30.0, abs=0.3)  # the centroid in degrees is not quite the centre
    assert own.measure == pytest.approx(given.measure, rel=1e-6)


def test_distances_and_bearings_from_the_centre_are_true() -> None:
    centre = np.array([6.6, 46.4])
    one_degree = 2 * np.pi * EARTH / 360
    assert azimuthal_equidistant(np.array([[6.6, 47.4], [6.6, 46.4]]), centre) == pytest.approx(
        np.array([[0, one_degree], [0, 0]]), abs=1e-9
    )
    far = azimuthal_equidistant(np.array(circle(900.0, 12)), centre)
    assert np.linalg.norm(far, axis=1) == pytest.approx(900.0, rel=1e-13)
    assert np.arctan2(far[1, 0], far[1, 1]) == pytest.approx(np.pi / 6, rel=1e-12)  # clockwise from north


def test_straight_edges_give_the_polygon(chart: Chart) -> None:
    n = 12
    domain = chart(polygon(circle(5.0, n)), centre=CENTRE)
    assert domain.measure == pytest.approx(0.5 * n * 25 * np.sin(2 * np.pi / n), rel=1e-12)
    assert domain.segments[0].length == pytest.approx(2 * n * 5 * np.sin(np.pi / n), rel=1e-12)


def test_islands(chart: Chart) -> None:
    islet = circle(0.5, 20, (6.63, 46.41))
    domain = chart(polygon(circle(8.0, 40), circle(1.0, 30, (6.57, 46.4)), islet[::-1]), smooth=True)
    assert [s.name for s in domain.segments] == ["shore", "island-1", "island-2"]
    assert [s.length for s in domain.segments] == pytest.approx(2 * np.pi * np.array([8, 1, 0.5]), rel=1e-4)
    rule = domain.quadrature(3.0)
    assert rule.weights.sum() == pytest.approx(domain.measure, rel=1e-12)
    assert (rule.weights > 0).all()
    assert domain.contains(rule.points).all()
    flux = sum(b.weights @ (b.points[:, 0] * b.normals[:, 0]) for b in (s.sample(600) for s in domain.segments))
    assert flux == pytest.approx(domain.measure, rel=1e-12)


@pytest.mark.parametrize("smooth", [False, True])
def test_plane_waves_on_a_jagged_shore(chart: Chart, smooth: bool) -> None:
    """Many vertices: the quadrature in bands against the divergence theorem."""
    random = np.random.default_rng(4)
    angle = 2 * np.pi * np.arange(60) / 60
    radius = 0.2 + 0.05 * np.cos(3 * angle + 1) + 0.008 * random.normal(size=60)
    ring = np.column_stack([6.6 + 1.4 * radius * np.cos(angle), 46.4 + radius * np.sin(angle)]).tolist()
    domain = chart(polygon([*ring, ring[0]]), smooth=smooth)
    rule = domain.quadrature(2.0)
    boundary = domain.segments[0].sample(1500)
    assert domain.contains(rule.points).all()
    for direction in np.linspace(0, 3, 7):
        k = 2.0 * np.array([np.cos(direction), np.sin(direction)])
        flux = boundary.weights @ (np.exp(1j * boundary.points @ k) * (boundary.normals @ k)) / 4j
        assert abs(rule.weights @ np.exp(1j * rule.points @ k) - flux) < 1e-12 * domain.measure


def test_a_lake_across_the_date_line(chart: Chart) -> None:
    domain = chart(polygon(circle(20.0, 50, (180.0, -17.0))), smooth=True)
    assert domain.measure == pytest.approx(400 * np.pi, rel=1e-5)


def test_simplify_moves_the_shore_by_less_than_the_tolerance(chart: Chart) -> None:
    fine, coarse = (chart(polygon(circle(10.0, 400)), centre=CENTRE, simplify=t) for t in (0, 0.1))
    assert len(coarse.segments[0].arcs) < 60 < len(fine.segments[0].arcs)
    points = coarse.segments[0].outline(500)
    assert 9.9 - 1e-9 <= np.linalg.norm(points, axis=1).min() <= np.linalg.norm(points, axis=1).max() <= 10 + 1e-9


def test_features_and_parts(chart: Chart) -> None:
    def feature(name: str, geometry: dict) -> dict:
        return {"type": "Feature", "properties": {"name": name, "rank": len(name)}, "geometry": geometry}

    two = {"type": "MultiPolygon", "coordinates": [[circle(1.0, 30)], [circle(2.0, 30, (7.0, 46.4))]]}
    lakes = {
        "type": "FeatureCollection",
        "features": [feature("small", polygon(circle(1.0, 30))), feature("twins", two)],
    }
    assert chart(lakes, feature={"name": "small"}).measure == pytest.approx(np.pi, rel=0.01)
    assert chart(lakes, feature=1, part=0).measure == pytest.approx(np.pi, rel=0.01)
    assert chart(lakes, feature={"rank": 5, "name": "twins"}, part="largest").measure == pytest.approx(
        4 * np.pi, rel=0.01
    )
