"""SVG shapes: areas, moments, lengths, normals, holes, transforms, segments, inside test."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ellipe

from gleg_domains_drawings.region import Region

Draw = Callable[..., Region]

CIRCLE = '<circle cx="3" cy="-2" r="1.5"/>'
TEAR = '<path d="M0 0 C 1 -1 2 -1 2 0 S 3 2 1 2 Q -1 2 0 0 Z"/>'
RING = '<path fill-rule="evenodd" d="M0 0h4v4h-4z M1 1h1v1h-1z M2.5 2.5a.5 .5 0 1 0 1 0a.5 .5 0 0 0 -1 0z"/>'
CUSPED = '<path d="M0 0 C 0 0 2 -1 2 0 C 2 1.5 1 2 1 2 Q -1 2 0 0 Z"/>'  # control points on the ends: γ\' = 0 there
INFLECTED = '<path d="M0 0 C 1 0 1 1 2 1 C 1 1.5 1 2 0 2 Z"/>'  # leaves and arrives horizontally
STRETCHED = (
    '<path d="M-.537 .798 Q -.68 .41 -.919 -.208 A .9 .54 69 0 1 .705 -.322 Z"/>'  # radii too small: half a turn
)
LEVEL = '<path d="M0 0 C 1 1.5 2 -0.5 3 1 L 1 3 Z"/>'  # y\' has a nearly double root
TURNED = '<g transform="translate(4 1) rotate(30)"><rect width="2" height="1" rx=".2" transform="skewX(20) scale(1 -2)"/></g>'
BODIES = {
    "circle": CIRCLE,
    "tear": TEAR,
    "ring": RING,
    "cusped": CUSPED,
    "inflected": INFLECTED,
    "level": LEVEL,
    "turned": TURNED,
    "stretched": STRETCHED,
}
EVERY = pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)


def moments(domain: Region) -> list[float]:
    rule = domain.quadrature(5.0)
    x, y = rule.points.T
    return [float(rule.weights @ f) for f in (np.ones_like(x), x**2, x * y, y**2)]


def green(pieces: list[tuple[Callable, Callable]]) -> tuple[float, float, float]:
    """Area, ∬x and ∬y of a closed loop of curves γ(s), 0 ≤ s ≤ 1, by adaptive quadrature of Green's theorem."""
    total = np.zeros(3)
    for point, slope in pieces:
        fields = [lambda p, v: p[0] * v[1], lambda p, v: 0.5 * p[0] ** 2 * v[1], lambda p, v: -0.5 * p[1] ** 2 * v[0]]
        for i, f in enumerate(fields):
            integrand = lambda s, f=f, p=point, v=slope: f(p(s), v(s))  # noqa: E731
            total[i] += quad(integrand, 0, 1, epsabs=1e-13, epsrel=1e-13)[0]
    return tuple(total * np.sign(total[0]))


def bernstein(*controls: tuple[float, float]) -> tuple[Callable, Callable]:
    """De Casteljau's construction and the hodograph, independent of the pack."""

    def point(s: float, p: np.ndarray) -> np.ndarray:
        return p[0] if len(p) == 1 else point(s, (1 - s) * p[:-1] + s * p[1:])

    p = np.array(controls, dtype=float)
    return lambda s: point(s, p), lambda s: (len(p) - 1) * point(s, np.diff(p, axis=0))


def test_moments_of_a_circle(draw: Draw) -> None:
    r = 1.5
    assert moments(draw(CIRCLE)) == pytest.approx(
        [np.pi * r**2, np.pi * r**4 / 4, 0, np.pi * r**4 / 4], rel=1e-13, abs=1e-13
    )


def test_a_turned_ellipse(draw: Draw) -> None:
    a, b, angle = 1.2, 0.4, np.deg2rad(-25)  # y points down in the file: the turn changes its sense
    domain = draw('<ellipse rx="1.2" ry="0.4" transform="rotate(25)"/>')
    second = np.pi * a * b / 4
    xx = second * (a**2 * np.cos(angle) ** 2 + b**2 * np.sin(angle) ** 2)
    yy = second * (a**2 * np.sin(angle) ** 2 + b**2 * np.cos(angle) ** 2)
    xy = second * (a**2 - b**2) * np.sin(angle) * np.cos(angle)
    assert moments(domain) == pytest.approx([np.pi * a * b, xx, xy, yy], rel=1e-12)
    assert domain.segments[0].length == pytest.approx(4 * a * ellipe(1 - b**2 / a**2), rel=1e-13)


def test_a_bezier_shape_against_greens_theorem(draw: Draw) -> None:
    pieces = [
        bernstein((0, 0), (1, -1), (2, -1), (2, 0)),
        bernstein((2, 0), (2, 1), (3, 2), (1, 2)),  # S repeats the last control point reflected
        bernstein((1, 2), (-1, 2), (0, 0)),
    ]
    area, first_x, first_y = green(pieces)
    domain = draw(TEAR, flip=False)
    low, high = domain.bounds[:, 0], domain.bounds[:, 1]
    fine = np.concatenate([[point(s) for s in np.linspace(0, 1, 4001)] for point, _ in pieces])
    assert high - low == pytest.approx(np.ptp(fine, axis=0), abs=1e-6)
    middle = 0.5 * (fine.min(axis=0) + fine.max(axis=0))
    rule = domain.quadrature(8.0)
    assert rule.weights.sum() == pytest.approx(area, rel=1e-12)
    assert domain.measure == pytest.approx(area, rel=1e-12)
    assert rule.weights @ rule.points == pytest.approx(np.array([first_x, first_y]) - area * middle, abs=1e-6)


def test_an_arc_command_is_a_circle(draw: Draw) -> None:
    """Three quarters of a disk of radius 2 and the two straight edges to its centre."""
    domain = draw('<path d="M0 0 L2 0 A2 2 0 1 1 0 -2 Z"/>')
    assert domain.measure == pytest.approx(0.75 * np.pi * 4, rel=1e-13)
    assert domain.segments[0].length == pytest.approx(3 * np.pi + 4, rel=1e-13)
    assert domain.bounds == pytest.approx(np.array([[-2.0, 2.0], [-2.0, 2.0]]), abs=1e-13)


@EVERY
@pytest.mark.parametrize("wavenumber", [3.0, 40.0])
def test_plane_waves_by_the_divergence_theorem(draw: Draw, body: str, wavenumber: float) -> None:
    """∫_Ω e^{iκ·x} dx = ∮ e^{iκ·x} κ·n ds / (i|κ|²)."""
    domain = draw(body)
    rule = domain.quadrature(wavenumber)
    boundary = [segment.sample(1200) for segment in domain.segments]
    for angle in np.linspace(0.1, 3.1, 9):
        k = wavenumber * np.array([np.cos(angle), np.sin(angle)])
        volume = rule.weights @ np.exp(1j * rule.points @ k)
        flux = sum(b.weights @ (np.exp(1j * b.points @ k) * (b.normals @ k)) for b in boundary)
        assert abs(volume - flux / (1j * wavenumber**2)) < 5e-13 * domain.measure


@EVERY
def test_weights_are_positive_and_nodes_inside(draw: Draw, body: str) -> None:
    domain = draw(body)
    for wavenumber in (1.0, 30.0):
        rule = domain.quadrature(wavenumber)
        assert (rule.weights > 0).all()
        assert domain.contains(rule.points).all()


@EVERY
def test_normals_are_unit_and_outward_and_the_boundary_is_sharp(draw: Draw, body: str) -> None:
    domain = draw(body)
    for segment in domain.segments:
        sample = segment.sample(200)
        assert np.linalg.norm(sample.normals, axis=1) == pytest.approx(1.0, abs=1e-14)
        assert domain.contains(sample.points - 1e-9 * sample.normals).all()
        assert not domain.contains(sample.points + 1e-9 * sample.normals).any()
        assert segment.sample(900).weights.sum() == pytest.approx(segment.length, rel=1e-11)
    total = sum(b.weights @ b.normals for b in (s.sample(900) for s in domain.segments))
    assert np.abs(total).max() < 1e-12


def test_holes_and_their_names(draw: Draw) -> None:
    domain = draw(RING)
    assert [s.name for s in domain.segments] == ["outer", "hole-1", "hole-2"]
    assert [s.length for s in domain.segments] == pytest.approx([16, 4, np.pi], rel=1e-13)
    assert domain.measure == pytest.approx(16 - 1 - np.pi / 4, rel=1e-13)
    # The square hole is at x, y = 1 … 2 of the file: upper left of the centre (2, 2) when y points up.
    assert domain.contains([[-0.5, 0.5], [1.0, -0.5], [-1.5, -1.5]]).tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("rule", "inner", "area"),
    [
        ("nonzero", "M1 1h1v1h-1z", 16.0),  # same direction: filled
        ("nonzero", "M1 1v1h1v-1z", 15.0),
        ("evenodd", "M1 1h1v1h-1z", 15.0),
    ],
)
def test_fill_rules(draw: Draw, rule: str, inner: str, area: float) -> None:
    body = f'<g style="fill: red; fill-rule: {rule}"><path d="M0 0h4v4h-4z {inner}"/></g>'
    assert draw(body).measure == pytest.approx(area, rel=1e-14)


def test_nested_transforms_change_the_area_by_their_determinant(draw: Draw) -> None:
    plain = draw('<rect width="2" height="1" rx=".2"/>').measure
    assert plain == pytest.approx(2 - (4 - np.pi) * 0.04, rel=1e-13)
    assert draw(TURNED).measure == pytest.approx(2 * plain, rel=1e-13)
    upright = draw('<polygon points="0,0 3,0 0,1" transform="matrix(0 1 -1 0 5 5)"/>', flip=False)
    # (x, y) ↦ (5 − y, 5 + x): corners (5, 5), (5, 8), (4, 5); the middle of the box is (4.5, 6.5).
    assert upright.contains([[0.45, -1.4], [0.45, 1.2], [-0.4, 0.0]]).tolist() == [True, True, False]


def test_width_and_flip(draw: Draw) -> None:
    triangle = '<polygon points="0,0 4,0 0,2"/>'
    domain = draw(triangle, width=1.0)
    assert domain.bounds == pytest.approx(np.array([[-0.5, 0.5], [-0.25, 0.25]]), abs=1e-15)
    assert domain.contains([[-0.45, 0.2], [0.4, -0.24]]).tolist() == [True, False]
    assert draw(triangle, width=1.0, flip=False).contains([[-0.45, 0.2], [0.4, -0.24]]).tolist() == [True, True]


def test_named_commands(draw: Draw) -> None:
    body = '<path d="M0 0 h4 v3 h-4 Z M1 1 v1 h1 v-1 Z"/>'
    domain = draw(body, segments={"top": [0, 0], "sides": [1, 1], "slot": [4, 5]})
    found = {s.name: s for s in domain.segments}
    assert {name: s.length for name, s in found.items()} == pytest.approx(
        {"top": 4, "sides": 3, "slot": 2, "outer": 7, "hole-1": 2}
    )
    assert found["top"].sample(5).normals == pytest.approx(np.tile([0.0, 1.0], (5, 1)), abs=1e-15)


def test_the_outline_is_closed_and_breaks_between_pieces(draw: Draw) -> None:
    domain = draw('<path d="M0 0 h4 v3 h-4 Z"/>', segments={"level": [0, 0], "walls": [1, 1]})
    assert [bool(np.isnan(s.outline(50)).any()) for s in domain.segments] == [False, False, False]
    circle = draw(CIRCLE).segments[0].outline(100)
    assert circle[0] == pytest.approx(circle[-1], abs=1e-14)
    assert np.linalg.norm(circle, axis=1) == pytest.approx(1.5, abs=1e-14)


def test_the_only_shape_shown_is_found(draw: Draw) -> None:
    body = '<defs><circle id="dot" r="9"/></defs><circle id="face" r="1"/>'
    assert draw(body).measure == pytest.approx(np.pi)
    assert draw(body, element="dot").measure == pytest.approx(81 * np.pi)
