"""The smooth curves of boundaries and the corners between them, against closed forms and against contains."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest
from scipy.integrate import quad

from gleg_core.contracts.domain import Curve, Segment, corners_of
from gleg_domains.kinks import kinks, parted
from gleg_domains.pack import gleg_domains

PI = np.pi
SQUARE = {"kind": "rectangle", "x": [-0.5, 0.5], "y": [-0.5, 0.5]}
DISK = {"kind": "disk", "radius": 1.0}
KINKED = ("polar", {"radius": "0.5 + 0.2*cos(theta) + 0.01*abs(sin(theta - 1))"})
EXAMPLES = [(e.name, dict(e.examples[0])) for e in gleg_domains() if e.name not in ("interval", "geojson")]
MORE = [
    KINKED,
    ("polar-annulus", {"outer": "0.8 + 0.1*abs(sin(2*theta))", "inner": "max(0.3, 0.2 + 0.2*cos(theta))"}),
    ("curve", {"x": "0.1*s*(2*pi - s)", "y": "0.5*sin(s)", "holes": [{"x": "0.6 + 0.1*cos(s)", "y": "0.1*sin(s)"}]}),
    ("polygon", {"vertices": [[0, 0], [1, 0], [1, 1], [0, 1]], "holes": [[[0.3, 0.3], [0.7, 0.3], [0.5, 0.6]]]}),
    ("level-set", {"function": "(x^2 + y^2 - 0.1)*(0.6 - x^2 - 2*y^2)"}),
    ("difference", {"of": [DISK, SQUARE, {"kind": "disk", "radius": 0.2, "centre": [0.75, 0]}]}),
]
EVERY = EXAMPLES + MORE


IDS = [kind + ("+" if i >= len(EVERY) - len(MORE) else "") for i, (kind, _) in enumerate(EVERY)]
HOLES = dict.fromkeys(
    [
        "annulus",
        "polar-annulus",
        "polar-annulus+",
        "annular-star",
        "cylinder-channel",
        "curve+",
        "polygon+",
        "level-set+",
    ],
    1,
)
HOLES["difference+"] = 2


@pytest.fixture(params=EVERY, ids=IDS)
def domain(request, build):
    kind, params = request.param
    return build(kind, **params)


def angle_at(domain, point):
    """The angle of the only corner there."""
    found = [c for c in domain.corners if np.hypot(*(c.point - point)) < 1e-9]
    assert len(found) == 1, domain.corners
    return found[0].angle


# --- curves -----------------------------------------------------------------------------------------------------------


def test_curves_follow_the_boundary_with_the_domain_on_their_left(domain):
    size = float(np.ptp(domain.bounds, axis=1).max())
    s = np.array([0.07, 0.33, 0.5, 0.81])
    for segment in domain.segments:
        for curve in segment.curves:
            points, h = curve.point(s), 1e-6
            along = curve.point(s + h) - curve.point(s - h)
            left = along[:, ::-1] * [-1, 1] / np.hypot(*along.T)[:, None]
            assert domain.contains(points + 1e-7 * size * left).all()
            assert not domain.contains(points - 1e-7 * size * left).any()
            assert curve.velocity(s) == pytest.approx(along / (2 * h), rel=1e-6, abs=1e-7 * size)


def test_curves_are_as_long_as_their_segment(domain):
    for segment in domain.segments:
        length = 0.0
        for curve in segment.curves:
            parts = np.linspace(0, 1, 41)
            u, w = np.polynomial.legendre.leggauss(20)
            s = (parts[:-1, None] + np.diff(parts)[:, None] * (0.5 + 0.5 * u)).ravel()
            h = 1e-3 * (parts[1] - parts[0])
            f = [curve.point(s + k * h) for k in (-2, -1, 1, 2)]
            slope = (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h)
            length += np.tile(0.5 * w, 40) @ np.hypot(*slope.T) / 40
        assert length == pytest.approx(segment.length, rel=1e-8)


def test_every_curve_ends_where_another_starts(domain):
    ends = np.array([curve.ends for segment in domain.segments for curve in segment.curves])
    gaps = np.hypot(*(ends[:, None, 1] - ends[None, :, 0]).transpose(2, 0, 1))
    assert ((gaps < 1e-11).sum(axis=0) == 1).all() and ((gaps < 1e-11).sum(axis=1) == 1).all()


def test_curves_turn_once_around_the_domain_and_back_around_each_hole(request, domain):
    """Along all curves and at all corners the tangent turns by 2π (1 − holes)."""
    turned = sum(PI - c.angle for c in domain.corners)
    for segment in domain.segments:
        for curve in segment.curves:
            v = curve.velocity(np.linspace(0, 1, 20001))
            turned += np.unwrap(np.arctan2(v[:, 1], v[:, 0]))[[0, -1]] @ [-1, 1]
    holes = HOLES.get(request.node.callspec.id, 0)
    assert turned / (2 * PI) == pytest.approx(1 - holes, abs=1e-6)


def test_points_of_a_level_set_are_its_zeros(build):
    domain = build("level-set", function="0.4 - x^2 - 2*y^2 + 0.3*x*y")
    x, y = domain.segments[0].curves[0].point(np.linspace(0, 1, 500)).T
    assert np.abs(0.4 - x**2 - 2 * y**2 + 0.3 * x * y).max() < 1e-14


# --- corners ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", ["disk", "ellipse", "annulus", "polar", "level-set", "curve", "rosette", "bunny", "annular-star"]
)
def test_smooth_domains_have_no_corner(build, kind):
    example = next(e.examples[0] for e in gleg_domains() if e.name == kind)
    assert build(kind, **example).corners == ()


@pytest.mark.parametrize("degrees", [10, 90, 270, 350])
def test_sectors(build, degrees):
    angle = np.deg2rad(degrees)
    domain = build("sector", radius=0.8, angles=[0.3, 0.3 + angle], centre=[0.1, 0.2])
    tip = np.array([0.1, 0.2])
    assert angle_at(domain, tip) == pytest.approx(angle, abs=1e-12)
    for direction in (0.3, 0.3 + angle):
        point = tip + 0.8 * np.array([np.cos(direction), np.sin(direction)])
        assert angle_at(domain, point) == pytest.approx(PI / 2, abs=1e-12)
    assert {c.segments for c in domain.corners} == {("end", "start"), ("start", "arc"), ("arc", "end")}


@pytest.mark.parametrize("degrees", [30, 240, 359])
@pytest.mark.parametrize("m, n", [(0, 0), (1, 0), (2, 1), (3, 4)])
def test_sectors_integrate_monomials(build, degrees, m, n):
    """∫ x^m y^n = R^{m+n+2}/(m+n+2) ∫ cos^m sin^n dθ."""
    first, angle = -0.4, np.deg2rad(degrees)
    rule = build("sector", radius=0.9, angles=[first, first + angle]).quadrature(10.0)
    part = quad(lambda t: np.cos(t) ** m * np.sin(t) ** n, first, first + angle, epsabs=1e-15)[0]
    x, y = rule.points.T
    assert rule.weights @ (x**m * y**n) == pytest.approx(0.9 ** (m + n + 2) / (m + n + 2) * part, abs=2e-14)


@pytest.mark.parametrize("angles", [[0, 0], [1, 0], [0, 2 * PI], [0, 7]])
def test_angles_of_a_sector(build, angles):
    with pytest.raises(ValueError, match=r"angles"):
        build("sector", radius=1.0, angles=angles)


def test_a_sector_of_350_degrees_cut_from_a_disk(build):
    half = np.deg2rad(5)
    wedge = {"kind": "polygon", "vertices": [[0, 0], [2, -2 * np.tan(half)], [2, 2 * np.tan(half)]]}
    domain = build("difference", of=[DISK, wedge])
    assert angle_at(domain, [0, 0]) == pytest.approx(np.deg2rad(350), abs=1e-11)
    assert angle_at(domain, [np.cos(half), np.sin(half)]) == pytest.approx(PI / 2, abs=1e-9)
    assert len(domain.corners) == 3


def test_a_sector_of_270_degrees_from_a_polygon_and_an_arc(build):
    quadrant = {"kind": "rectangle", "x": [0, 2], "y": [0, 2]}
    domain = build("difference", of=[DISK, quadrant])
    assert angle_at(domain, [0, 0]) == pytest.approx(3 * PI / 2, abs=1e-11)
    assert angle_at(domain, [0, 1]) == pytest.approx(PI / 2, abs=1e-9)


def test_a_star_polygon(build):
    turn = 2 * PI * np.arange(10) / 10
    radius = np.where(np.arange(10) % 2, np.cos(2 * PI / 5) / np.cos(PI / 5), 1.0)  # the pentagram
    points = radius[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])
    domain = build("polygon", vertices=points.tolist())
    assert [angle_at(domain, p) for p in points] == pytest.approx([PI / 5, 7 * PI / 5] * 5, abs=1e-12)


def test_a_disk_without_a_box(build):
    box = {"kind": "rectangle", "x": [0.5, 2], "y": [-2, 2]}
    domain = build("difference", of=[DISK, box])
    height = (
        np.sqrt(3) / 2
    )  # the circle meets the line x = 1/2 at 60 degrees from the axis: its tangent makes 30 with the axis
    for y in (height, -height):
        assert angle_at(domain, [0.5, y]) == pytest.approx(2 * PI / 3, abs=1e-9)
    assert {frozenset(c.segments) for c in domain.corners} == {frozenset({"boundary", "left"})}


def test_the_crescent_by_the_law_of_cosines(build):
    """Radii R and r at distance d: the tangents make the angle between the radii at the common point; Ω is outside of the small disk."""
    R, r, d = 0.76, 0.60, 0.34
    between = np.arccos((R**2 + r**2 - d**2) / (2 * R * r))
    for scale in (1.0, 0.01):
        corners = build("crescent", scale=scale, centre=[3.0, -7.0]).corners
        assert [c.angle for c in corners] == pytest.approx([between] * 2, abs=1e-10)
        assert {c.segments for c in corners} == {("inner", "outer"), ("outer", "inner")}


def test_nearly_touching_circles(build):
    """Tips of a narrow crescent, and the same from outside."""
    R, r, d = 1.0, 0.6, 0.4001
    between = np.arccos((R**2 + r**2 - d**2) / (2 * R * r))
    small = {"kind": "disk", "radius": r, "centre": [d, 0]}
    assert [c.angle for c in build("difference", of=[DISK, small]).corners] == pytest.approx([between] * 2, abs=1e-8)
    union = [c.angle for c in build("union", of=[DISK, small]).corners]
    assert union == pytest.approx([2 * PI - (PI - between)] * 2, abs=1e-8)


@pytest.mark.parametrize("hole", [[[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]]], ids=["square"])
@pytest.mark.parametrize("order", [1, -1])
def test_holes_are_seen_from_the_domain(build, hole, order):
    outer = [[-1, -1], [1, -1], [1, 1], [-1, 1]]
    domain = build("polygon", vertices=outer, holes=[hole[::order]])
    assert sorted(c.angle for c in domain.corners) == pytest.approx([PI / 2] * 4 + [3 * PI / 2] * 4)
    domain = build("difference", of=[DISK, SQUARE])
    assert [c.angle for c in domain.corners] == pytest.approx([3 * PI / 2] * 4)


def test_a_channel_with_a_cylinder(build):
    assert [c.angle for c in build("cylinder-channel").corners] == pytest.approx([PI / 2] * 4)


def test_the_oblique_channel(build):
    """Walls leave at the slope 2πA/L of the sine, turned."""
    angles = sorted(c.angle for c in build("oblique-channel").corners)
    tilt = np.arctan(2 * PI * 0.12 / 0.78)
    assert angles == pytest.approx([PI / 2 - tilt] * 2 + [PI / 2 + tilt] * 2, abs=1e-12)


def test_named_ends_on_a_straight_side_are_corners(build):
    square = [[0, 0], [0.5, 0], [1, 0], [1, 1], [0, 1]]
    domain = build("polygon", vertices=square, segments={"inlet": [0, 0]})
    assert angle_at(domain, [0.5, 0]) == PI


def test_squares_that_share_a_corner(build):
    """At the common point each square has its own corner."""
    other = {"kind": "rectangle", "x": [0.5, 1], "y": [0.5, 1]}
    domain = build("union", of=[SQUARE, other])
    assert [c.angle for c in domain.corners] == pytest.approx([PI / 2] * 8)


def test_corners_of_a_geojson_island(build, tmp_path):
    ring = [[0, 0], [4, 0], [4, 3], [0, 0]]
    (tmp_path / "t.geojson").write_text(json.dumps({"type": "Polygon", "coordinates": [ring]}))
    domain = build("geojson", folder=str(tmp_path), path="t.geojson")
    assert angle_at(domain, [0, 0]) == pytest.approx(np.arctan2(3, 4))


# --- kinks of formulas --------------------------------------------------------------------------------------------------


def test_a_square_in_polar_coordinates(build):
    domain = build("polar", radius="0.5/max(abs(cos(theta)), abs(sin(theta)))")
    assert sorted(map(tuple, np.round([c.point for c in domain.corners], 12).tolist())) == [
        (-0.5, -0.5), (-0.5, 0.5), (0.5, -0.5), (0.5, 0.5)
    ]  # fmt: skip
    assert [c.angle for c in domain.corners] == pytest.approx([PI / 2] * 4, abs=1e-9)
    x, y = domain.quadrature(10.0).points.T
    assert domain.quadrature(10.0).weights @ (x**4 * y**2) == pytest.approx(0.5**8 * 4 / 15, rel=1e-10)


@pytest.mark.parametrize("size", [0.1, 0.01, 1e-4, -0.1])
def test_a_small_kink_is_found(build, size):
    """R = ½ + size·|sin(θ − 1)|: the tangent turns by 2 atan(2 size) at R = ½; area ½∫R² = π/4 + 2 size + size² π/2."""
    domain = build("polar", radius=f"0.5 + {size}*abs(sin(theta - 1))")
    assert [c.angle for c in domain.corners] == pytest.approx([PI + 2 * np.arctan(2 * size)] * 2, abs=1e-9)
    for at in (1, 1 + PI):
        angle_at(domain, 0.5 * np.array([np.cos(at), np.sin(at)]))
    area = PI / 4 + 2 * size + size**2 * PI / 2
    assert domain.quadrature(20.0).weights.sum() == pytest.approx(area, rel=1e-11)


def test_a_formula_that_is_not_smooth_across_zero(build):
    """R = ½ + (θ − π)²/100 has a corner at θ = 0: R' jumps from π/50 to −π/50."""
    (corner,) = build("polar", radius="0.5 + 0.01*(theta - pi)^2").corners
    R = 0.5 + 0.01 * PI**2
    assert corner.point == pytest.approx([R, 0], abs=1e-12)
    assert corner.angle == pytest.approx(PI - 2 * np.arctan(PI / 50 / R), abs=1e-9)


def test_a_tear(build):
    """x = s(2π − s)/10, y = sin(s)/2 meets itself at s = 0 with slopes ±(½)/(2π/10)."""
    (corner,) = build("curve", x="0.1*s*(2*pi - s)", y="0.5*sin(s)").corners
    assert corner.angle == pytest.approx(2 * np.arctan(0.5 / (0.2 * PI)), abs=1e-9)


def test_a_bump_whose_formula_does_not_repeat(build):
    """Beyond 2π the formula has no bump any more; the curve has."""
    domain = build("polar", radius="0.5 + 0.2*exp(-30*(theta - 1)^2)")
    area = 0.5 * quad(lambda t: (0.5 + 0.2 * np.exp(-30 * (t - 1) ** 2)) ** 2, 0, 2 * PI, points=[1], epsabs=1e-14)[0]
    assert domain.corners == () and domain.quadrature(20.0).weights.sum() == pytest.approx(area, rel=1e-11)


def test_waves_over_a_kinked_domain(build, wave_error):
    kind, params = KINKED
    assert wave_error(build(kind, **params), 40.0, 1500) < 1e-11


def test_kinks_of_a_smooth_curve(build):
    arc = build("rosette").segments[0].arcs[0]
    assert kinks(arc, "the curve") == [] and parted(arc, []) == [arc]


# --- corners_of by itself -------------------------------------------------------------------------------------------------


class Plain(Segment):
    curves = ()

    def __init__(self, name, *curves):
        self.name, self.curves = name, curves

    def sample(self, n):
        raise NotImplementedError

    outline = sample


def circle(centre, radius, first, last):
    def point(s):
        t = first + (last - first) * s
        return np.asarray(centre) + radius * np.column_stack([np.cos(t), np.sin(t)])

    return Curve(point)


def test_angles_without_velocities():
    R, r, d = 0.76, 0.60, 0.34
    x = (R**2 - r**2 + d**2) / (2 * d)
    y = np.sqrt(R**2 - x**2)
    far, near = np.arctan2(y, x), np.arctan2(y, x - d)
    found = corners_of([Plain("one", circle((0, 0), R, far, 2 * PI - far), circle((d, 0), r, 2 * PI - near, near))])
    between = np.arccos((R**2 + r**2 - d**2) / (2 * R * r))
    assert [c.angle for c in found] == pytest.approx([between] * 2, abs=1e-9)


@pytest.mark.parametrize("within", [True, False])
def test_a_cusp(within):
    """Two circles that touch from within, from the common point half around: Ω between them has the angle 0, Ω around them 2π."""
    big, small = ((1, 0), 1.0), ((0.5, 0), 0.5)
    outward, back = (big, small) if within else (small, big)
    a, b = (np.array([sum(one[1] for one in pair), 0.0]) for pair in ((outward, outward), (back, back)))
    chord = Curve(lambda s: a + np.multiply.outer(s, b - a), straight=True)
    found = corners_of([Plain("all", circle(*outward, PI, 2 * PI), chord, circle(*back, 2 * PI, PI))])
    (cusp,) = [c for c in found if np.hypot(*c.point) < 1e-9]
    assert cusp.angle == pytest.approx(0.0 if within else 2 * PI, abs=1e-9)


def test_no_corners_are_told_without_curves():
    assert corners_of([]) is None
    assert corners_of([Plain("one", circle((0, 0), 1, 0, 2 * PI))]) == ()
    unknown = Plain("two")
    unknown.curves = None
    assert corners_of([Plain("one", circle((0, 0), 1, 0, 2 * PI)), unknown]) is None


def test_two_thousand_edges_take_no_time(build):
    turn = 2 * PI * np.arange(2000) / 2000
    radius = 1 + 0.02 * np.cos(100 * turn)
    domain = build("polygon", vertices=np.column_stack([radius * np.cos(turn), radius * np.sin(turn)]).tolist())
    began = time.perf_counter()
    assert len(domain.corners) == 2000
    assert time.perf_counter() - began < 0.1
