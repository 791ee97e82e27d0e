"""The parts of a quadrature rule against formulas: Gauss rules, node counts, inverse functions, and how often a boundary is evaluated."""

from dataclasses import replace

import numpy as np
import pytest

from gleg_domains import polar
from gleg_domains.arcs import TWO_PI, ellipse_arc, polar_arc, rotation
from gleg_domains.gauss import count_for, even, legendre
from gleg_domains.monotone import abscissae, level_points, monotone_parts
from gleg_domains.pack import gleg_domains
from gleg_domains.quadtree import quadtree_rule
from gleg_domains.reparametrize import Reparametrization, choose, density_modes, identity, smoothed
from gleg_domains.rings import RingPlan, Rings
from gleg_domains.roots import Table, bracketed, inverted

PLANE = [e for e in gleg_domains() if e.capabilities["dim"] == 2 and e.name != "geojson"]


# --- Gauss -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 8, 31, 100, 251])
def test_legendre_rule_agrees_with_eigenvalues(n):
    u, w = legendre(n)
    nodes, weights = np.polynomial.legendre.leggauss(n)
    assert u == pytest.approx(0.5 * (1 + nodes), abs=3e-16)
    assert w == pytest.approx(0.5 * weights, rel=1e-9, abs=1e-15)  # the reference loses digits at the ends
    assert w @ u ** (2 * n - 1) == pytest.approx(0.5 / n, rel=1e-13)


@pytest.mark.parametrize("n", [1, 2, 5, 20])
def test_even_rule_is_exact_for_even_polynomials(n):
    u, w = even(n)
    for power in range(2, 4 * n + 1, 2):
        assert w @ u**power == pytest.approx(1 / (power + 1), rel=1e-13)


@pytest.mark.parametrize("tolerance", [1e-1, 1e-3, 1e-5, 1e-8, 1e-12])
def test_node_counts_suffice_and_waste_at_most_one(tolerance):
    """Against ∫exp(iωξ) = 2 sin ω/ω over all frequencies up to ω."""

    def error(n, omega):
        below = omega * np.linspace(0.0025, 1, 400)
        u, w = legendre(n)
        return np.abs(2 * w @ np.cos(np.outer(2 * u - 1, below)) - 2 * np.sin(below) / below).max()

    for omega in np.geomspace(0.05, 150, 25):
        n = int(count_for(np.array([omega]), tolerance)[0])
        assert error(n, omega) <= tolerance
        assert n <= 2 or error(n - 2, omega) > tolerance


def test_node_counts_take_a_tolerance_each():
    omega, tolerance = np.array([0.0, 5.0, 40.0, 40.0]), np.array([1e-3, 1e-6, 1e-9, 1e-4])
    each = [int(count_for(omega[i : i + 1], tolerance[i])[0]) for i in range(4)]
    assert count_for(omega, tolerance).tolist() == each and each[0] == 1


# --- roots -------------------------------------------------------------------------------------------------------


def test_bracketed_roots_are_exact_to_rounding():
    a, b = np.array([0.5, 3.0, -1.0, 0.0]), np.array([2.0, 6.0, -0.5, 0.25])
    roots = bracketed(
        lambda s: s**3 - np.array([2.0, 100.0, -0.25, 0.0]), a, b, a**3 - [2, 100, -0.25, 0], b**3 - [2, 100, -0.25, 0]
    )
    assert roots == pytest.approx(np.cbrt([2.0, 100.0, -0.25, 0.0]), rel=4e-16, abs=1e-14)


def test_inverse_of_a_function_between_its_extrema():
    """y = −cos s on [0, π]: both ends are quadratic, and s = arccos(−y)."""
    s = 0.5 * np.pi * (1 - np.cos(np.linspace(0, np.pi, 33)))
    table = Table(s, -np.cos(s), np.sin(s))
    true = np.concatenate([[0.0, np.pi], np.pi * np.random.default_rng(0).uniform(0, 1, 500) ** 2])
    evaluated = []

    def evaluate(s):
        evaluated.append(len(s))
        return -np.cos(s), np.sin(s)

    found = inverted(evaluate, [(table, -np.cos(true))])
    assert np.abs(np.sin(0.5 * (found - true))) * np.sin(true) == pytest.approx(0.0, abs=3e-16)
    assert found[:2] == pytest.approx([0.0, np.pi], abs=1e-12)
    assert sum(evaluated) < 3 * len(true)


def test_abscissae_of_several_parts_at_once():
    """A tilted ellipse: x at height y solves a quadratic."""
    arc = ellipse_arc(0.7, 0.4, (0.1, -0.2), np.pi / 6)
    top = np.hypot(0.7 * np.sin(np.pi / 6), 0.4 * np.cos(np.pi / 6))
    assert arc.point(level_points(arc))[:, 1] == pytest.approx([top - 0.2, -top - 0.2], abs=1e-15)
    parts = monotone_parts([arc])
    y = [np.linspace(-0.2 - 0.99 * top, -0.2 + 0.99 * top, n) for n in (7, 40)]
    for x, heights in zip(abscissae(list(zip(parts, y, strict=True))), y, strict=True):
        c, s = np.cos(np.pi / 6), np.sin(np.pi / 6)
        xi, eta = c * (x - 0.1) + s * (heights + 0.2), -s * (x - 0.1) + c * (heights + 0.2)
        assert (xi / 0.7) ** 2 + (eta / 0.4) ** 2 == pytest.approx(1.0, abs=1e-13)


def test_reparametrization_sums_its_series():
    modes = 0.02 * np.exp(1j * np.arange(21))
    chosen = Reparametrization(0.3, 2.0, modes)
    s = np.linspace(0.3, 2.3, 50)
    k = np.arange(1, 22)
    waves = np.exp(1j * np.pi * np.outer(s - 0.3, k))
    t, monitor = chosen.forward(s)
    assert monitor == pytest.approx(1 + 2 * (waves @ modes).real, abs=1e-13)
    assert t == pytest.approx((s - 0.3) / 2 + 2 * ((waves - 1) @ (modes / (2j * np.pi * k))).real, abs=1e-13)
    back, slope = chosen.invert(t)
    assert back == pytest.approx(s, abs=1e-13) and slope == pytest.approx(2 / monitor, rel=1e-12)


def test_area_far_from_the_origin():
    """Green's sum cancels; πab is left."""
    assert ellipse_arc(0.7, 0.2, (300, -200), 0.3).swept_area == pytest.approx(np.pi * 0.14, rel=1e-10)
    assert ellipse_arc(0.7, 0.2).swept_area == pytest.approx(np.pi * 0.14, rel=1e-14)


# --- rules -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", PLANE, ids=lambda e: e.name)
@pytest.mark.parametrize(("phase", "tolerance"), [(120.0, 1e-4), (90.0, 1e-8)])
def test_waves_to_a_tolerance(build, entry, phase, tolerance):
    """∫exp(iκ·x) = ∮exp(iκ·x) κ·n ds / (i|κ|²) to about the tolerance asked for."""
    domain = build(entry.name, **entry.examples[0])
    wavenumber = phase / np.ptp(domain.bounds, axis=1).max()
    rule = domain.quadrature(wavenumber, tolerance)
    boundary = [s.sample(1500) for s in domain.segments]
    angle = np.random.default_rng(7).uniform(0, np.pi, 30)
    kappa = wavenumber * np.column_stack([np.cos(angle), np.sin(angle)])
    volume = np.exp(1j * kappa @ rule.points.T) @ rule.weights
    flux = sum((np.exp(1j * kappa @ b.points.T) * (kappa @ b.normals.T)) @ b.weights for b in boundary) / (
        1j * wavenumber**2
    )
    assert np.abs(volume - flux).max() <= 5 * tolerance * domain.measure
    assert (rule.weights > 0).all() and domain.contains(rule.points).all()


def lines_along(rule):
    """The number of lines parallel to an axis that hold all nodes, for the better axis."""
    return min(len(np.unique(np.round(rule.points[:, axis], 12))) for axis in (0, 1))


@pytest.mark.parametrize(("kind", "most"), [("rosette", 1700), ("pinwheel", 1900), ("bunny", 1000), ("peanut", 1000)])
def test_stars_have_few_nodes_on_lines_at_a_loose_tolerance(build, kind, most):
    rule = build(kind).quadrature(74.0, 1e-5)
    assert len(rule.weights) <= most and lines_along(rule) * 10 < len(rule.weights)


def test_vertical_lines_are_exactly_vertical(build):
    rule = build("heart").quadrature(60.0, 1e-6)
    assert len(np.unique(rule.points[:, 0])) * 10 < len(rule.weights)


def test_a_strip_near_a_sharp_bend_is_halved(build):
    """Without, this star takes half as many nodes again: a bend just outside a strip would make all of it dense."""
    rule = build("polar", radius="0.5*(1+0.3*cos(5*theta)+0.1*sin(2*theta))").quadrature(90.0, 1e-5)
    assert lines_along(rule) * 10 < len(rule.weights) < 2300


@pytest.mark.parametrize("inner", [None, 0.2])
def test_ring_plans_know_about_how_many_nodes_they_make(inner):
    def outer(theta):
        return 0.6 + 0.1 * np.cos(3 * theta)

    rings = Rings(outer, None if inner is None else lambda t: np.full(len(t), inner), np.zeros(2))
    arc = polar_arc(outer, lambda t: (outer(t), -0.3 * np.sin(3 * t)))
    modes = density_modes(arc.speed, 0.0, TWO_PI)
    for angle in (identity(0.0, TWO_PI), smoothed(modes, 0.0, TWO_PI, 0.04)):
        plan = RingPlan(rings, angle, 80.0, 1e-7)
        rule = plan.rule()
        assert plan.possible and plan.nodes == pytest.approx(len(rule.weights), rel=0.1)
        area = np.pi * (0.36 + 0.005 - (inner or 0.0) ** 2)
        assert rule.weights.sum() == pytest.approx(area, abs=1e-6)


def test_quadtree_agrees_with_a_closed_form(build):
    """∫exp(iκx) over a polygon is a sum over its edges."""
    angle = TWO_PI * np.arange(70) / 70
    vertices = (0.6 + 0.1 * np.cos(3 * angle))[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    rule = quadtree_rule(build("polygon", vertices=vertices.tolist())._shape, 60.0, 1e-9)
    k = np.array([48.0, 36.0])
    a, edge = vertices, np.roll(vertices, -1, axis=0) - vertices
    along = edge @ k
    mean = np.exp(1j * (a @ k + 0.5 * along)) * np.sinc(0.5 * along / np.pi)
    exact = (mean * (edge[:, 1] * k[0] - edge[:, 0] * k[1])).sum() / (1j * (k @ k))
    assert abs(rule.weights @ np.exp(1j * rule.points @ k) - exact) < 5e-9


def test_a_boundary_is_evaluated_in_few_large_calls():
    calls = []

    def radius(theta):
        calls.append(len(theta))
        return 0.6 + 0.12 * np.cos(5 * theta) + 0.05 * np.sin(3 * theta)

    def both(theta):
        return radius(theta), -0.6 * np.sin(5 * theta) + 0.15 * np.cos(3 * theta)

    domain = polar.RingedDomain(polar.PolarCurve(radius, both))
    rule = domain.quadrature(100.0, 1e-6)
    assert len(calls) < 400 and sum(calls) < 20 * len(rule.weights)


def test_an_arclength_parameter_is_chosen_in_few_large_calls():
    calls = []

    def speed(s):
        calls.append(len(s))
        return np.hypot(np.sin(s), 0.2 * np.cos(s))

    chosen = choose(speed, 0.0, TWO_PI)
    assert len(calls) <= 9 and len(chosen.invert(np.linspace(0, 1, 5))[0]) == 5


@pytest.mark.parametrize("degrees", [0, 90, 180, 30])
def test_level_points_of_a_turned_and_cut_ellipse(degrees):
    """a cos t, b sin t at an angle: y' = 0 where tan t = (b/a) cot(angle)."""
    whole = ellipse_arc(0.7, 0.3, angle=0.4)
    turned = whole.moved(
        rotation(np.deg2rad(degrees)) if degrees % 90 else np.rint(rotation(np.deg2rad(degrees))), np.ones(2)
    )
    angle = 0.4 + np.deg2rad(degrees)
    first = np.arctan(0.3 / 0.7 / np.tan(angle)) % np.pi
    for _ in range(2):
        assert np.sort(level_points(turned) % TWO_PI) == pytest.approx([first, first + np.pi], abs=1e-12)
    part = replace(turned, start=first - 0.5, stop=first + 0.5, closed=False)
    assert level_points(part) == pytest.approx([first], abs=1e-12)
    back = part.reversed()
    assert level_points(back) == pytest.approx([first], abs=1e-12)
    assert back.velocity(level_points(back))[:, 1] == pytest.approx([0.0], abs=1e-12)
