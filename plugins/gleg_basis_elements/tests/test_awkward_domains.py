"""Domains that are hard to mesh: the right area, or one message."""

from typing import Any

import numpy as np
import pytest

import gleg
from gleg_core.errors import GeometryError
from gleg_core.spec.problem import load_problem
from gleg_core.system.discretise import discretise

SQUARE = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
SPIKE = [[0, -0.5], [1, -0.5], [1, -4e-4], [3, 0], [1, 4e-4], [1, 0.5], [0, 0.5]]
SLIT = [[0, -0.5], [1, -0.5], [1, 0.5], [0, 0.5], [0, 4e-4], [0.8, 0], [0, -4e-4]]


def problem(domain: dict[str, Any], end: float = 1.0, initial: str = "1") -> dict[str, Any]:
    field = {"initial": initial, "boundary": [{"kind": "dirichlet"}], "equation": [{"block": "diffusion"}]}
    return {"domain": domain, "basis": {"kind": "elements"}, "fields": {"u": field}, "time": {"end": end}}


def polygon(*vertices: Any) -> dict[str, Any]:
    return {"kind": "polygon", "vertices": [list(map(float, v)) for v in vertices]}


@pytest.mark.parametrize(
    "vertices",
    [SPIKE, SLIT, [SQUARE[0], [0.5, 0], [0.5 + 1e-5, 0], *SQUARE[1:]], [*SQUARE[:2], [1, 1e-6], *SQUARE[2:]]],
    ids=["spike", "slit", "short edge", "short edge at a corner"],
)
def test_cells_fill_the_polygon(vertices: Any) -> None:
    x, y = np.array(vertices, dtype=float).T
    area = 0.5 * float(x @ np.roll(y, -1) - y @ np.roll(x, -1))
    cells = discretise(load_problem(problem(polygon(*vertices)))).basis.cells
    assert sum(float(c.weights.sum()) for c in cells) == pytest.approx(area, rel=1e-13)


def test_edges_that_are_too_short_are_refused() -> None:
    with pytest.raises(GeometryError, match=r"an edge of length 1e-09 near \[0.5, 0.0\]"):
        discretise(load_problem(problem(polygon(SQUARE[0], [0.5, 0], [0.5 + 1e-9, 0], *SQUARE[1:]))))


def test_a_boundary_that_touches_itself_tangentially_is_refused() -> None:
    """Disks that touch from within, which Netgen would divide for ever."""
    disks = [{"kind": "disk", "radius": 1}, {"kind": "disk", "radius": 0.5, "centre": [0.5, 0]}]
    with pytest.raises(GeometryError, match=r"touches itself in a cusp at \[1.0, 0.0\]"):
        discretise(load_problem(problem({"kind": "difference", "of": disks})))


def test_times_of_short_runs_are_told_apart() -> None:
    """exp(−2π²t/L²) sin(πx/L) sin(πy/L) on a square of a micrometre, within 1e-13."""
    side, end = 1e-6, 1e-13
    square = {"kind": "rectangle", "x": [0, side], "y": [0, side]}
    run = gleg.solve(problem(square, end, f"sin(pi*x/{side})*sin(pi*y/{side})"))
    for t in (0.0, 0.35 * end, 0.5 * end, end):
        assert run.u(0.5 * side, 0.5 * side, t) == pytest.approx(np.exp(-2 * np.pi**2 * t / side**2), rel=1e-5)
