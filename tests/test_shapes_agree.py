"""One shape described in several ways, and shapes with known spectra: the decay rates must agree."""

import json
from pathlib import Path

import numpy as np
import pytest
from eigenmodes import bessel_rates, decay_rates
from scipy.special import jv

R = 0.6
DIRICHLET = [{"kind": "dirichlet"}]
DISKS = {
    "polar": {"kind": "polar", "radius": R},
    "curve": {"kind": "curve", "x": f"{R}*cos(s)", "y": f"{R}*sin(s)"},
    "level-set": {"kind": "level-set", "function": f"{R}^2 - x^2 - y^2", "box": [[-1, 1], [-1, 1]]},
    "ellipse": {"kind": "ellipse", "a": R, "b": R},
    "intersection": {
        "kind": "intersection",
        "of": [{"kind": "disk", "radius": R}, {"kind": "rectangle", "x": [-1, 1], "y": [-1, 1]}],
    },
    "union": {
        "kind": "union",
        "of": [{"kind": "disk", "radius": R}, {"kind": "disk", "radius": 0.2, "centre": [0.1, 0]}],
    },
}


@pytest.mark.parametrize("name", DISKS)
def test_a_disk_by_any_description(name: str) -> None:
    assert decay_rates(DISKS[name], DIRICHLET, K=14)[:6] == pytest.approx(bessel_rates(jv, R, 6), rel=1e-8)


def rectangle_rates(width: float, height: float, count: int) -> np.ndarray:
    rates = [(m * np.pi / width) ** 2 + (n * np.pi / height) ** 2 for m in range(1, 9) for n in range(1, 9)]
    return np.sort(rates)[:count]


def test_rectangle_polygon_and_geojson(tmp_path: Path) -> None:
    """Corners: u has none of the corner singularities here, so the rates are spectrally accurate."""
    corners = [[-0.5, -0.3], [0.7, -0.3], [0.7, 0.5], [-0.5, 0.5]]
    feature = {
        "type": "Feature",
        "properties": {},
        "geometry": {"type": "Polygon", "coordinates": [[*corners, corners[0]]]},
    }
    path = tmp_path / "box.geojson"
    path.write_text(json.dumps(feature))
    expected = rectangle_rates(1.2, 0.8, 6)
    for domain in (
        {"kind": "rectangle", "x": [-0.5, 0.7], "y": [-0.3, 0.5]},
        {"kind": "polygon", "vertices": corners},
        {"kind": "geojson", "path": str(path)},
    ):
        assert decay_rates(domain, DIRICHLET, K=16)[:6] == pytest.approx(expected, rel=1e-6)


def test_difference_of_disks_is_an_annulus() -> None:
    hole = {"kind": "difference", "of": [{"kind": "disk", "radius": 0.7}, {"kind": "disk", "radius": 0.25}]}
    annulus = {"kind": "annulus", "outer": 0.7, "inner": 0.25}
    assert decay_rates(hole, DIRICHLET, K=14)[:6] == pytest.approx(decay_rates(annulus, DIRICHLET, K=14)[:6], rel=1e-7)


def test_mixed_conditions_on_the_sides_of_a_rectangle() -> None:
    """u = 0 left and right, ∂u/∂n = 0 below and above: (mπ/a)² + (nπ/b)² with n = 0, 1, …"""
    boundary = [{"kind": "dirichlet", "where": ["left", "right"]}, {"kind": "neumann", "where": "rest"}]
    rates = decay_rates({"kind": "rectangle", "x": [0, 1.2], "y": [0, 0.8]}, boundary, K=16)[:5]
    expected = sorted((m * np.pi / 1.2) ** 2 + (n * np.pi / 0.8) ** 2 for m in range(1, 6) for n in range(5))[:5]
    assert rates == pytest.approx(expected, rel=1e-6)
