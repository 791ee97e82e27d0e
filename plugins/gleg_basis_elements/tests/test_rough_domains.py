"""Heat on domains with corners, slits and coastlines, by the default basis: against Bessel functions, closed forms and NGSolve."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import scipy.sparse.linalg
from scipy.optimize import brentq
from scipy.special import jv, jvp

import gleg
from gleg_core.algebra.sparse_linear import SparsePart
from gleg_core.run import Run
from gleg_core.spec.problem import load_problem
from gleg_core.system.discretise import discretise

L_SHAPE = [[0, 0], [1, 0], [1, 1], [-1, 1], [-1, -1], [0, -1]]
DIRICHLET, NEUMANN = {"kind": "dirichlet"}, {"kind": "neumann"}
COAST = [
    [1.0, 0.0], [0.69, 0.16], [0.35, 0.26], [0.17, 0.59], [0.31, 0.95], [-0.03, 0.88], [-0.34, 1.05], [-0.73, 0.97], [-0.81, 0.59],
    [-0.66, 0.27], [-0.44, 0.0], [-0.6, -0.31], [-0.81, -0.59], [-0.54, -0.74], [-0.3, -0.92], [0.0, -1.01], [0.31, -0.95],
    [0.38, -0.64], [0.65, -0.47], [0.89, -0.28],
]  # fmt: skip
COAST_POINTS = np.array([[0.0, 0.0], [0.3, 0.2], [-0.4, 0.05], [-0.6, 0.7], [0.35, -0.6], [0.9, -0.05]])
AT_THE_COAST: dict[str, tuple[list[dict[str, Any]], list[float]]] = {
    # u(x, 0.1) at the points above: python benchmarks/references/coast_heat.py
    "dirichlet": ([DIRICHLET], [0.2826543, 0.099632935, 0.07337204, 0.032167478, 0.054508038, 0.009716864]),
    "neumann": ([NEUMANN], [0.517109521, 0.557969756, 0.405494229, 0.178520286, 0.422174582, 0.492722893]),
    "robin": (
        [{"kind": "robin", "kappa": 2}],
        [0.449727805, 0.384160716, 0.294142625, 0.117522502, 0.27707707, 0.208354943],
    ),
    "mixed": (
        [{**DIRICHLET, "where": "harbour", "value": 0.5}, {**NEUMANN, "where": "rest", "value": 0.3}],
        [0.529560614, 0.54736435, 0.490276601, 0.430337077, 0.515210359, 0.654505894],
    ),
}


def problem(domain: Mapping[str, Any], boundary: list[dict[str, Any]], initial: Any = 0, end: float = 1.0, **keys: Any):
    """Diffusion, without a basis."""
    equation = keys.pop("equation", [{"block": "diffusion"}])
    u = {"initial": initial, "boundary": boundary, "equation": equation}
    return {"domain": dict(domain), "fields": {"u": u}, "time": {"end": end}, "output": {"frames": 2}, **keys}


def polygon(vertices: Any, **keys: Any) -> dict[str, Any]:
    return {"kind": "polygon", "vertices": [list(map(float, v)) for v in vertices], **keys}


def rates(spec: dict[str, Any], count: int) -> np.ndarray:
    """The slowest decay rates."""
    part = discretise(load_problem(spec)).system.linear
    assert isinstance(part, SparsePart)
    K, M = -part.stiffness.matrix.tocsc(), part.mass.matrix.tocsc()
    return np.sort(scipy.sparse.linalg.eigsh(K, k=count, M=M, sigma=-0.1, return_eigenvectors=False))


def inside(run: Run, count: int = 300) -> np.ndarray:
    """Random points of the domain."""
    domain, random = run.discretisation.domain, np.random.default_rng(0)
    points = random.uniform(*domain.bounds.T, (20 * count, 2))
    return points[domain.contains(points)][:count]


def relative(values: np.ndarray, exact: np.ndarray) -> float:
    return float(np.linalg.norm(values - exact) / np.linalg.norm(exact))


def test_slowest_rate_of_the_l_shape() -> None:
    """9.6397238440219: Trefethen and Betcke, Computed eigenmodes of planar regions (2006)."""
    assert rates(problem(polygon(L_SHAPE), [DIRICHLET]), 3)[0] == pytest.approx(9.6397238440219, rel=5e-6)


SIDES = {
    "DD": (1.0, [DIRICHLET]),
    "NN": (0.0, [NEUMANN]),
    "DN": (0.5, [{**DIRICHLET, "where": ["start", "arc"]}, {**NEUMANN, "where": "end"}]),
}


@pytest.mark.parametrize(("tolerance", "error"), [(1e-6, 1.5e-6), (5e-7, 1e-6), (1e-8, 3e-8)])
@pytest.mark.parametrize(
    ("degrees", "kind"),
    [(200, "DD"), (270, "DD"), (270, "DN"), (270, "NN"), (350, "DD"), (350, "DN"), (350, "NN"), (359.9, "NN")],
)
def test_rates_of_sectors_are_zeros_of_bessel_functions(
    degrees: float, kind: str, tolerance: float, error: float
) -> None:
    """Of order π(m + 1)/ω between two sides with u = 0, πm/ω with ∂u/∂n = 0, π(m + ½)/ω with one of each. The tolerance is 1e-6 by
    default; ``accuracy: 1e-6`` makes it 5e-7."""
    angle, (offset, boundary) = float(np.radians(degrees)), SIDES[kind]
    basis = {"kind": "elements", "tolerance": tolerance}
    found = rates(problem({"kind": "sector", "radius": 1, "angles": [0, angle]}, boundary, basis=basis), 6)
    expected = [0.0] * (kind == "NN")
    s = np.linspace(0.3, 14.0, 2000)
    for m in range(8):
        order = (m + offset) * np.pi / angle
        function = (lambda r, n=order: jvp(n, r)) if kind == "NN" else (lambda r, n=order: jv(n, r))
        values = function(s)
        places = np.flatnonzero(values[1:] * values[:-1] < 0)
        expected += [brentq(function, s[i], s[i + 1], xtol=1e-13) ** 2 for i in places]
    assert found == pytest.approx(np.sort(expected)[:6], rel=error, abs=1e-7)


def test_rates_of_a_star_with_many_teeth() -> None:
    """40 teeth and 40 re-entrant corners: the rates are those of order 9 and cells for 1e-9, which order 7 on finer cells has to 1e-9."""
    angles = np.arange(80) * np.pi / 40
    radius = np.where(np.arange(80) % 2 == 0, 1.0, 0.8)
    star = np.column_stack([radius * np.cos(angles), radius * np.sin(angles)])
    found = rates(problem(polygon(star), [DIRICHLET]), 3)
    assert found == pytest.approx([8.52078981237, 21.6281046164, 21.6281046164], rel=2e-6)


@pytest.mark.parametrize("condition", AT_THE_COAST)
def test_heat_between_many_corners(condition: str) -> None:
    boundary, expected = AT_THE_COAST[condition]
    segments = {"harbour": [2, 6]} if condition == "mixed" else {}
    run = gleg.solve(problem(polygon(COAST, segments=segments), boundary, "exp(-3*(x^2+y^2))*(1+x)", 0.1))
    assert run.evaluate("u", COAST_POINTS, 0.1) == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(("size", "centre"), [(1e-6, (0, 0)), (1e6, (0, 0)), (1.0, (1e4, -1e4))])
def test_lengths_and_places_do_not_matter(size: float, centre: tuple[float, float]) -> None:
    """A harmonic function stays as it is on an L-shape of a micrometre, of a thousand kilometres, far away from the origin."""
    X, Y = f"((x - ({centre[0]}))/{size})", f"((y - ({centre[1]}))/{size})"
    harmonic = f"exp(0.7*{X})*cos(0.7*{Y})"
    domain = polygon(np.array(L_SHAPE) * size + centre)
    diffusion = [{"block": "diffusion", "coefficient": size**2}]
    run = gleg.solve(problem(domain, [{**DIRICHLET, "value": harmonic}], harmonic, equation=diffusion))
    points = inside(run)
    x, y = (points - centre).T / size
    assert relative(run.evaluate("u", points, 1.0), np.exp(0.7 * x) * np.cos(0.7 * y)) < 1e-7


def test_value_and_flux_that_meet_on_a_straight_line() -> None:
    """Im √z: zero on the positive axis, without flux through the negative one; its gradient is unbounded between them."""
    domain = polygon([[-1, 0], [0, 0], [1, 0], [1, 1], [-1, 1]], segments={"left": [0, 0], "right": [1, 1]})
    boundary = [
        {**NEUMANN, "where": "left"},
        {**DIRICHLET, "where": "right"},
        {**DIRICHLET, "where": "rest", "value": "sqrt((sqrt(x^2 + y^2) - x)/2)"},
    ]
    run = gleg.solve(problem(domain, boundary, end=4))
    points = inside(run)
    assert relative(run.evaluate("u", points, 4.0), np.sqrt(points @ [1, 1j]).imag) < 2e-5


def test_nothing_is_lost_beside_a_slit() -> None:
    """A slit of width 2e-6 with ∂u/∂n = 0: the heat in the square stays, and the slit is felt."""
    slit = [[-0.5, -1e-6], [0.5, -1e-6], [0.5, 1e-6], [-0.5, 1e-6]]
    domain = polygon([[-1, -1], [1, -1], [1, 1], [-1, 1]], holes=[slit])
    run = gleg.solve(problem(domain, [NEUMANN], "where(y > 0, 1, 0)", 0.02))
    space = run.discretisation.system.fields["u"].space
    a = run.discretisation.system.coefficients("u", run.state(0.02), 0.02)
    heat = float(run.discretisation.basis.evaluate(a, space.nodes.x) @ space.weights)
    assert heat == pytest.approx(2.0, abs=5e-6)
    assert run.u(0.0, 0.05, 0.02) > 0.99 > 0.01 > run.u(0.0, -0.05, 0.02)


def test_disk_without_a_thin_box() -> None:
    """Re-entrant corners 0.002 from each other and a curved rim: a harmonic function is the steady state."""
    box = {"kind": "rectangle", "x": [0, 2], "y": [-1e-3, 1e-3]}
    domain = {"kind": "difference", "of": [{"kind": "disk", "radius": 1}, box]}
    harmonic = "exp(0.7*x)*cos(0.7*y)"
    run = gleg.solve(problem(domain, [{**DIRICHLET, "value": harmonic}], end=6))
    x, y = (points := inside(run)).T
    assert relative(run.evaluate("u", points, 6.0), np.exp(0.7 * x) * np.cos(0.7 * y)) < 1e-6


def test_tangent_circles_leave_a_cusp() -> None:
    inner = {"kind": "disk", "radius": 0.5, "centre": [0.5, 0]}
    domain = {"kind": "difference", "of": [{"kind": "disk", "radius": 1}, inner]}
    run = gleg.solve(problem(domain, [{**DIRICHLET, "value": "x*y"}], end=4))
    points = inside(run)
    assert relative(run.evaluate("u", points, 4.0), points.prod(axis=1)) < 1e-5
