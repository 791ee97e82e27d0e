"""Jumps, kinks, narrow features and layers on elements that are chosen by themselves: against series and closed forms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from scipy.special import exp1

import gleg
from gleg_core.run import Run

Array = np.ndarray
UNIT = {"kind": "interval", "left": 0, "right": 1}
SQUARE = {"kind": "rectangle", "x": [0, 1], "y": [0, 1]}
DISK = {"kind": "disk", "radius": 1}
L_SHAPE = {"kind": "polygon", "vertices": [[0, 0], [1, 0], [1, 1], [-1, 1], [-1, -1], [0, -1]]}
DIRICHLET, NEUMANN, ELEMENTS = {"kind": "dirichlet"}, {"kind": "neumann"}, {"kind": "elements"}
FROM_ZERO_TO_ONE = [{**DIRICHLET, "where": "left"}, {**DIRICHLET, "where": "right", "value": 1}]


def solved(
    domain: Mapping[str, Any], boundary: list[dict[str, Any]], initial: Any, end: float, *terms: Any, **keys: Any
) -> Run:
    u = {"initial": initial, "boundary": boundary, "equation": list(terms) or [{"block": "diffusion"}]}
    spec = {"domain": dict(domain), "fields": {"u": u}, "time": {"end": end}, "output": {"frames": 4}}
    return gleg.solve({**spec, **keys})


def inside(run: Run, count: int = 300) -> Array:
    domain, random = run.discretisation.domain, np.random.default_rng(0)
    points = random.uniform(*domain.bounds.T, (20 * count, domain.dim))
    return points[domain.contains(points)][:count]


def error(run: Run, t: float, exact: Array, points: Array) -> float:
    """Relative, in the mean square over points."""
    return float(np.linalg.norm(run.evaluate("u", points, t) - exact) / np.linalg.norm(exact))


def test_an_initial_jump_on_an_interval() -> None:
    run = solved(UNIT, [NEUMANN], "where(x > 0.3141, 1, 0)*where(x < 0.72, 1, 0)", 0.05)
    x, n = inside(run), np.arange(1, 300)
    waves = 2 / (n * np.pi) * (np.sin(0.72 * n * np.pi) - np.sin(0.3141 * n * np.pi))
    for t in (0.0125, 0.05):
        exact = 0.72 - 0.3141 + np.cos(x * n * np.pi) @ (waves * np.exp(-((n * np.pi) ** 2) * t))
        assert error(run, t, exact, x) < 1e-4


def test_a_source_that_jumps_leaves_a_kink() -> None:
    """u″ = −1 for x < a and 0 beyond, u = 0 at both ends."""
    a = 0.437
    sides = [{**DIRICHLET, "where": ["left", "right"]}, {**NEUMANN, "where": "rest"}]
    source = {"block": "source", "value": f"where(x < {a}, 1, 0)"}
    run = solved(SQUARE, sides, 0, 3, {"block": "diffusion"}, source)
    x = (points := inside(run))[:, 0]
    slope = a - a * a / 2
    assert error(run, 3.0, np.where(x < a, slope * x - x * x / 2, (slope - a) * x + a * a / 2), points) < 1e-5


def test_two_materials_on_an_interval() -> None:
    a, hundred = 0.437, 100
    run = solved(
        UNIT, FROM_ZERO_TO_ONE, 0, 3, {"block": "variable-diffusion", "diffusivity": f"where(x < {a}, 1, {hundred})"}
    )
    x, flux = inside(run), 1 / (a + (1 - a) / hundred)
    assert error(run, 3.0, np.where(x < a, flux * x, 1 - flux * (1 - x) / hundred)[:, 0], x) < 1e-4


def test_values_that_jump_at_corners() -> None:
    """One on the top, zero on the other sides: a series of sines."""
    run = solved(SQUARE, [{**DIRICHLET, "where": "top", "value": 1}, {**DIRICHLET, "where": "rest"}], 0, 1)
    x, y = (points := inside(run)).T[:, :, None]
    n = np.arange(1, 3000, 2) * np.pi
    exact = (4 / n * np.sin(n * x) * np.exp(-n * (1 - y)) * (1 - np.exp(-2 * n * y)) / (1 - np.exp(-2 * n))).sum(axis=1)
    assert error(run, 1.0, exact, points) < 1e-4


def test_values_that_jump_on_a_disk() -> None:
    run = solved(DISK, [{**DIRICHLET, "value": "sign(x)"}], 0, 3)
    points = inside(run)
    assert error(run, 3.0, 4 / np.pi * np.arctan(points @ [1, 1j]).real, points) < 5e-5


def test_a_flux_that_jumps_on_a_disk() -> None:
    run = solved(DISK, [{**NEUMANN, "value": "sign(x)"}], 0, 8)
    points = inside(run)
    z, k = points @ [1, 1j], np.arange(300)
    exact = (4 / np.pi * (-1.0) ** k / (2 * k + 1) ** 2 * (z[:, None] ** (2 * k + 1)).real).sum(axis=1)
    assert error(run, 8.0, exact, points) < 1e-5


def test_a_flux_with_a_kink_on_a_disk() -> None:
    """∂u/∂n + u = |x|."""
    run = solved(DISK, [{"kind": "robin", "kappa": 1, "value": "abs(x)"}], 0, 8)
    points = inside(run)
    z, k = points @ [1, 1j], np.arange(1, 300)
    waves = 4 / np.pi * (-1.0) ** (k + 1) / (4 * k * k - 1) / (2 * k + 1)
    assert error(run, 8.0, 2 / np.pi + (waves * (z[:, None] ** (2 * k)).real).sum(axis=1), points) < 5e-5


@pytest.mark.parametrize("width", [0.01, 0.003])
def test_narrow_values_on_the_boundary_are_seen(width: float) -> None:
    top = {**DIRICHLET, "where": "top", "value": f"exp(-(x - 0.437)^2/(2*{width}^2))"}
    run = solved(SQUARE, [top, {**DIRICHLET, "where": "rest"}], 0, 2, basis=ELEMENTS)
    random = np.random.default_rng(0)
    points = np.column_stack([0.437 + width * random.uniform(-3, 3, 100), 1 - width * random.uniform(0.01, 2, 100)])
    n = np.arange(1, 1500) * np.pi
    s = np.linspace(0, 1, 20_001)
    gauss = np.exp(-((s - 0.437) ** 2) / (2 * width**2))
    waves = np.array([2 * np.trapezoid(np.sin(m * s) * gauss, s) for m in n])
    x, y = points.T[:, :, None]
    shape = np.sin(n * x) * np.exp(-n * (1 - y)) * (1 - np.exp(-2 * n * y)) / (1 - np.exp(-2 * n))
    assert error(run, 2.0, shape @ waves, points) < 5e-5


@pytest.mark.parametrize("width", [5e-3, 1e-3, 2e-4])
def test_narrow_initial_states_are_seen_wherever_they_are(width: float) -> None:
    for place in np.random.default_rng(1).uniform(0.1, 0.9, 3):
        end = width**2
        run = solved(UNIT, [NEUMANN], f"1 + exp(-(x - {place})^2/(2*{width}^2))", end, basis=ELEMENTS)
        x = place + 2 * width * np.random.default_rng(0).normal(size=(100, 1))
        exact = 1 + np.exp(-((x - place) ** 2) / (6 * width**2)) / np.sqrt(3)
        assert error(run, end, exact[:, 0], x) < 3e-4


def test_a_sharp_source_in_a_square() -> None:
    """Gaussian of width 0.01: the integral over time of its own heat kernels."""
    s, D, at = 0.01, 1e-3, np.array([0.437, 0.613])
    source = {"block": "source", "value": f"exp(-((x - {at[0]})^2 + (y - {at[1]})^2)/(2*{s}^2))"}
    run = solved(SQUARE, [NEUMANN], 0, 0.5, {"block": "diffusion", "coefficient": D}, source, basis=ELEMENTS)
    points = at + 0.05 * np.random.default_rng(0).normal(size=(200, 2))
    r2 = ((points - at) ** 2).sum(axis=1)
    exact = s * s / (2 * D) * (exp1(r2 / (2 * (s * s + D))) - exp1(r2 / (2 * s * s)))  # 2 D t = D at the end
    assert error(run, 0.5, exact, points) < 5e-5


def test_a_layer_where_a_wind_ends() -> None:
    """In the layer, where no given function is steep."""
    peclet = 300
    wind = {"block": "advection", "velocity": [1], "coefficient": -1}
    run = solved(
        UNIT, FROM_ZERO_TO_ONE, "x", 3, {"block": "diffusion", "coefficient": 1 / peclet}, wind, basis=ELEMENTS
    )
    x = 1 - np.linspace(0.01, 8, 200)[:, None] / peclet
    assert error(run, 3.0, np.exp(peclet * (x[:, 0] - 1)), x) < 2e-3


def test_burgers_steepens() -> None:
    """Cole's solution from −sin πx with ν = 0.01/π."""
    nu, t = 0.01 / np.pi, 0.5
    advection = {"block": "transport", "direction": "x", "coefficient": -1}
    line = {"kind": "interval", "left": -1, "right": 1}
    run = solved(
        line, [DIRICHLET], "-sin(pi*x)", t, {"block": "diffusion", "coefficient": nu}, advection, basis=ELEMENTS
    )
    xi, w = np.polynomial.hermite.hermgauss(200)
    x = inside(run)
    y = x - np.sqrt(4 * nu * t) * xi
    exponent = -np.cos(np.pi * y) / (2 * np.pi * nu)
    F = np.exp(exponent - exponent.max(axis=1, keepdims=True)) * w
    assert error(run, t, -(np.sin(np.pi * y) * F).sum(axis=1) / F.sum(axis=1), x) < 1e-3


def test_values_that_move() -> None:
    source = {"block": "source", "value": "3*cos(3*t)*x"}
    run = solved(L_SHAPE, [{**DIRICHLET, "value": "sin(3*t)*x"}], 0, 0.2, {"block": "diffusion"}, source)
    points = inside(run)
    assert error(run, 0.2, np.sin(0.6) * points[:, 0], points) < 1e-6


def test_flux_in_is_heat_gained() -> None:
    """d/dt ∫u = ∮ x ds = −1 around the L-shape."""
    run = solved(L_SHAPE, [{**NEUMANN, "value": "x"}], 0, 0.5)
    space, t = run.discretisation.system.fields["u"].space, 0.5
    a = run.discretisation.system.coefficients("u", run.state(t), t)
    heat = float(run.discretisation.basis.evaluate(a, space.nodes.x) @ space.weights)
    assert heat == pytest.approx(-t, abs=1e-10)
