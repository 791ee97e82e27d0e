"""Coefficients that jump: meshes follow the interface, against closed forms."""

from typing import Any

import numpy as np
import pytest

import gleg


def solved(domain: dict[str, Any], diffusivity: str, boundary: list[dict[str, Any]], source: float) -> Any:
    terms = [{"block": "variable-diffusion", "diffusivity": diffusivity}, {"block": "source", "value": source}]
    fields = {"u": {"initial": 0, "boundary": boundary, "equation": terms}}
    return gleg.solve({"domain": domain, "fields": fields, "time": {"end": 20}, "output": {"frames": 1}})


@pytest.mark.parametrize(("inner", "outer"), [(1.0, 1e3), (1e3, 1.0)])
def test_a_disk_in_a_disk(inner: float, outer: float) -> None:
    """∇·(D∇u) + 1 = 0, u = 0 at r = 1: a parabola on both sides of r = 1/2."""
    run = solved(
        {"kind": "disk", "radius": 1}, f"where(x^2 + y^2 < 0.25, {inner}, {outer})", [{"kind": "dirichlet"}], 1
    )
    r = np.linspace(0.01, 0.99, 50)
    outside = (1 - r**2) / 4 / outer
    true = np.where(r < 0.5, (0.25 - r**2) / 4 / inner + 0.75 / 4 / outer, outside)
    u = run.u(r * np.cos(0.7), r * np.sin(0.7), 20.0)
    assert np.abs(u - true).max() < 1e-6 * true.max()
    assert run.discretisation.basis.size < 2000


def test_an_interface_that_meets_the_boundary() -> None:
    """Two slabs in a row, D = 1 and 1000: linear on both sides."""
    sides = [{"kind": "dirichlet", "where": "right", "value": 1}, {"kind": "dirichlet", "where": "left"}]
    square = {"kind": "rectangle", "x": [0, 1], "y": [0, 1]}
    run = solved(square, "where(x < 0.37, 1, 1000)", [*sides, {"kind": "neumann", "where": "rest"}], 0)
    x = np.linspace(0.01, 0.99, 40)
    flux = 1 / (0.37 + 0.63 / 1000)
    true = np.where(x < 0.37, flux * x, 1 - flux * (1 - x) / 1000)
    assert np.abs(run.u(x, 0.3 + 0 * x, 20.0) - true).max() < 1e-7


def test_a_point_of_an_interval() -> None:
    ends = [{"kind": "dirichlet", "where": "right", "value": 1}, {"kind": "dirichlet", "where": "left"}]
    run = solved({"kind": "interval", "left": 0, "right": 1}, "where(x < 0.37, 1, 1000)", ends, 0)
    x = np.linspace(0.01, 0.99, 40)
    flux = 1 / (0.37 + 0.63 / 1000)
    assert np.abs(run.u(x, 20.0) - np.where(x < 0.37, flux * x, 1 - flux * (1 - x) / 1000)).max() < 1e-7


@pytest.mark.parametrize("region", ["max(abs(x), abs(y)) < 0.3", "abs(x) < 0.3 and abs(y) < 0.3"])
def test_corners_and_crossings_are_points_of_the_mesh(region: str) -> None:
    """The same square, as one level with corners and as four lines that cross."""
    square = {"kind": "rectangle", "x": [-1, 1], "y": [-1, 1]}
    run = solved(square, f"where({region}, 1, 10)", [{"kind": "dirichlet"}], 1)
    points = run.discretisation.basis.mesh.mesh.points
    for corner in ([0.3, 0.3], [-0.3, 0.3], [0.3, -0.3], [-0.3, -0.3]):
        assert np.hypot(*(points - corner).T).min() < 1e-6
