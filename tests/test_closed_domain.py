"""The boundary belongs to the domain: runs are evaluated on edges, at vertices and on curves, and saved on grids that reach them."""

import math
from typing import Any

import numpy as np
import pytest

import gleg

EXACT = "exp(0.3*x)*cos(0.3*y)"
SHAPES: dict[str, tuple[dict[str, Any], list[tuple[float, float]]]] = {
    "rectangle": (
        {"kind": "rectangle", "x": [0, 1.1], "y": [-0.3, 0.4]},
        [(0, -0.3), (1.1, 0.4), (0.5, 0.4), (0, 0.1)],
    ),
    "spike": (
        {"kind": "polygon", "vertices": [[0, 0], [2, 0.01], [2, 0.02], [0.3, 1.1]]},
        [(0, 0), (2, 0.01), (2, 0.02), (0.3, 1.1), (1, 0.005), (0.15, 0.55)],
    ),
    "needle": ({"kind": "polygon", "vertices": [[0, 0], [1, -0.004], [1, 0.005]]}, [(0, 0), (0.5, -0.002)]),
    "disk": (
        {"kind": "disk", "radius": 0.7, "centre": [0.1, 0.2]},
        [(0.1 + 0.7 * math.cos(a), 0.2 + 0.7 * math.sin(a)) for a in (0, 0.3, 1.5, math.pi, 4, 5.5)],
    ),
    "sector": (
        {"kind": "sector", "radius": 1, "angles": [0, 4.7]},
        [(0, 0), (0.5, 0), (1, 0), (math.cos(2), math.sin(2)), (0.4 * math.cos(4.7), 0.4 * math.sin(4.7))],
    ),
    "annulus": (
        {"kind": "annulus", "inner": 0.4, "outer": 1},
        [(0.4, 0), (0, -1), (0.4 * math.cos(1), 0.4 * math.sin(1))],
    ),
    "rosette": ({"kind": "rosette"}, [(0.53 * 0.28 ** (-1 / 6), 0)]),
}


def solved(shape: str, basis: dict[str, Any]) -> Any:
    domain, _ = SHAPES[shape]
    field = {
        "initial": EXACT,
        "boundary": [{"kind": "dirichlet", "value": EXACT}],
        "equation": [{"block": "diffusion"}],
    }
    return gleg.solve({"domain": domain, "basis": basis, "fields": {"u": field}, "time": {"end": 1e-3}})


@pytest.mark.parametrize("shape", SHAPES)
def test_values_on_the_boundary(shape: str) -> None:
    run = solved(shape, {"kind": "elements"})
    x, y = np.array(SHAPES[shape][1]).T
    assert run.u(x, y, 1e-3) == pytest.approx(np.exp(0.3 * x) * np.cos(0.3 * y), abs=1e-7)
    assert np.isnan(run.u(x, y + 10, 1e-3)).all()


@pytest.mark.parametrize("shape", ["rectangle", "disk"])
def test_values_on_the_boundary_of_smooth_functions(shape: str) -> None:
    run = solved(shape, {"kind": "fourier", "K": 6})
    x, y = np.array(SHAPES[shape][1]).T
    assert run.u(x, y, 0.0) == pytest.approx(np.exp(0.3 * x) * np.cos(0.3 * y), abs=1e-3)


def test_the_grid_of_a_rectangle_has_no_gaps() -> None:
    u = solved("rectangle", {"kind": "elements"}).dataset.u.values
    assert np.isfinite(u).all()


def test_points_a_little_outside_are_outside() -> None:
    run = solved("disk", {"kind": "elements"})
    assert np.isnan(run.u(0.1 + 0.7 + 1e-8, 0.2, 0.0))
    assert math.isfinite(run.u(0.1 + 0.7 + 1e-10, 0.2, 0.0))
