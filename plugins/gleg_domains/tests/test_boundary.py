"""Boundary rules: lengths, normals, the divergence theorem, names, outlines."""

import numpy as np
import pytest
from scipy.special import ellipe

from gleg_domains.pack import gleg_domains

PLANE = [e for e in gleg_domains() if e.capabilities["dim"] == 2 and e.name != "geojson"]
EVERY = pytest.mark.parametrize("entry", PLANE, ids=lambda e: e.name)


def perimeter(domain):
    return sum(s.length for s in domain.segments)


PERIMETERS = [
    ("disk", {"radius": 0.6}, 1.2 * np.pi),
    ("ellipse", {"a": 0.7, "b": 0.2}, 4 * 0.7 * ellipe(1 - 0.04 / 0.49)),
    ("annulus", {"outer": 0.7, "inner": 0.3}, 2 * np.pi),
    ("rectangle", {"x": [0, 2], "y": [0, 1]}, 6.0),
    ("cylinder-channel", {}, 4 * (0.95 + 0.2375) + 2 * np.pi * 0.0523),
    ("level-set", {"function": "0.25-x^2-y^2"}, np.pi),
    (
        "intersection",
        {"of": [{"kind": "disk", "radius": 1}, {"kind": "rectangle", "x": [0, 2], "y": [0, 2]}]},
        2 + np.pi / 2,
    ),
]


@pytest.mark.parametrize(("kind", "params", "length"), PERIMETERS, ids=[p[0] for p in PERIMETERS])
def test_perimeter(build, kind, params, length):
    assert perimeter(build(kind, **params)) == pytest.approx(length, rel=1e-12)


@EVERY
def test_sample_has_about_n_nodes_and_its_weights_give_the_length(build, entry):
    for segment in build(entry.name, **entry.examples[0]).segments:
        sample = segment.sample(700)
        assert sample.weights.sum() == pytest.approx(segment.length, rel=1e-11)
        assert abs(len(sample.weights) - 700) <= 3 * 10
        assert (sample.weights > 0).all()


@EVERY
def test_normals_are_unit_and_outward(build, entry):
    domain = build(entry.name, **entry.examples[0])
    for segment in domain.segments:
        sample = segment.sample(101)
        assert np.hypot(*sample.normals.T) == pytest.approx(1.0, abs=1e-13)
        assert domain.contains(sample.points - 1e-6 * sample.normals).all()
        assert not domain.contains(sample.points + 1e-6 * sample.normals).any()


@EVERY
def test_divergence_theorem(build, entry):
    """∫∇·F = ∮F·n for F = (x, 0), (0, y³), (sin 3x·e^y, cos 2y)."""
    domain = build(entry.name, **entry.examples[0])
    rule = domain.quadrature(30.0)
    x, y = rule.points.T
    inside = [np.ones_like(x), 3 * y**2, 3 * np.cos(3 * x) * np.exp(y) - 2 * np.sin(2 * y)]
    flux = np.zeros(3)
    for segment in domain.segments:
        b = segment.sample(900)
        px, py = b.points.T
        fields = [(px, 0 * px), (0 * px, py**3), (np.sin(3 * px) * np.exp(py), np.cos(2 * py))]
        flux += [b.weights @ (f * b.normals[:, 0] + g * b.normals[:, 1]) for f, g in fields]
    assert flux == pytest.approx([rule.weights @ f for f in inside], abs=3e-13 * max(1, domain.measure))


@EVERY
def test_boundary_is_closed(build, entry):
    """∮ n ds = 0."""
    total = sum(b.weights @ b.normals for b in (s.sample(900) for s in build(entry.name, **entry.examples[0]).segments))
    assert np.abs(total).max() < 1e-12


@EVERY
def test_names_are_distinct_and_bounds_are_tight(build, entry):
    domain = build(entry.name, **entry.examples[0])
    names = [s.name for s in domain.segments]
    assert len(set(names)) == len(names)
    points = np.concatenate([s.outline(4000) for s in domain.segments])
    points = points[np.isfinite(points).all(axis=1)]
    box = np.column_stack([points.min(axis=0), points.max(axis=0)])
    assert domain.bounds == pytest.approx(box, abs=1e-5)
    assert (domain.bounds[:, 0] <= box[:, 0] + 1e-12).all() and (domain.bounds[:, 1] >= box[:, 1] - 1e-12).all()


@EVERY
def test_different_counts_give_different_nodes(build, entry):
    segment = build(entry.name, **entry.examples[0]).segments[0]
    if segment.arcs[0].closed:
        coarse, fine = (segment.sample(n).points for n in (50, 100))
        assert np.abs(coarse[:, None] - fine[None]).sum(axis=-1).min() > 1e-9


@EVERY
def test_inside_test_agrees_with_winding(build, entry):
    """The direct test against crossings of the arcs, for many points at once."""
    from gleg_domains.planar import PlanarDomain

    domain = build(entry.name, **entry.examples[0])
    (x0, x1), (y0, y1) = domain.bounds
    points = np.random.default_rng(1).uniform([x0 - 0.1, y0 - 0.1], [x1 + 0.1, y1 + 0.1], (20000, 2))
    assert (domain.contains(points) == PlanarDomain.contains(domain, points)).all()


def test_trapezoid_on_closed_curves_converges_exponentially(build):
    for kind in ("bunny", "peanut", "rosette"):
        boundary = build(kind).segments[0]
        errors = [abs(boundary.sample(n).weights.sum() - boundary.length) for n in (40, 160, 640)]
        assert errors[2] < 1e-11 and errors[1] < 0.1 * errors[0] + 1e-12


def test_polygon_edges_have_no_node_at_a_corner(build):
    square = [[0, 0], [1, 0], [1, 1], [0, 1]]
    domain = build("polygon", vertices=square, segments={"south": [0, 0], "sides": [[1, 1], [3, 3]]})
    assert {s.name: s.length for s in domain.segments} == {"south": 1.0, "sides": 2.0, "boundary": 1.0}
    points = np.concatenate([s.sample(9).points for s in domain.segments])
    assert np.abs(points[:, None] - np.array(square)[None]).sum(axis=-1).min() > 1e-3
    south = next(s for s in domain.segments if s.name == "south").sample(5)
    assert south.normals == pytest.approx(np.tile([0.0, -1.0], (5, 1)))
    assert np.isnan(next(s for s in domain.segments if s.name == "sides").outline(10)).any()


def test_edge_names_follow_the_given_order_when_vertices_run_clockwise(build):
    domain = build("polygon", vertices=[[0, 0], [0, 1], [1, 1], [1, 0]], segments={"west": [0, 0], "north": [1, 1]})
    by_name = {s.name: s for s in domain.segments}
    assert by_name["west"].sample(3).normals[0] == pytest.approx([-1, 0])
    assert by_name["north"].sample(3).normals[0] == pytest.approx([0, 1])


def test_names_in_combinations(build):
    disk, other = {"kind": "disk", "radius": 1}, {"kind": "disk", "radius": 1, "centre": [1, 0], "name": "right"}
    assert [s.name for s in build("union", of=[disk, other]).segments] == ["0.boundary", "right.boundary"]
    square = {"kind": "rectangle", "x": [-2, 2], "y": [-2, 2]}
    names = [s.name for s in build("difference", of=[square, disk]).segments]
    assert names == ["bottom", "right", "top", "left", "boundary"]


def test_nested_combination(build, wave_error):
    plate = {
        "kind": "union",
        "of": [{"kind": "rectangle", "x": [-1, 1], "y": [-0.3, 0.3]}, {"kind": "disk", "radius": 0.5}],
    }
    domain = build("difference", of=[plate, {"kind": "polar", "radius": "0.2+0.03*cos(3*theta)"}])
    assert wave_error(domain, 40.0) < 2e-13
    assert perimeter(domain) > 4


def test_shared_edge_vanishes_and_partial_overlap_is_counted_once(build):
    left, right = {"kind": "rectangle", "x": [0, 1], "y": [0, 1]}, {"kind": "rectangle", "x": [1, 2], "y": [0.25, 0.5]}
    assert perimeter(build("union", of=[left, right])) == pytest.approx(6.0)
    inner = {"kind": "rectangle", "x": [0, 0.5], "y": [0, 1]}
    assert perimeter(build("union", of=[left, inner])) == pytest.approx(4.0)
    assert perimeter(build("difference", of=[left, inner])) == pytest.approx(3.0)
    assert perimeter(
        build("union", of=[{"kind": "disk", "radius": 1}, {"kind": "disk", "radius": 1}])
    ) == pytest.approx(2 * np.pi)


def test_level_set_with_two_parts_and_a_hole(build, wave_error):
    domain = build("level-set", function="0.05-((x-0.5)^2+y^2)*((x+0.5)^2+y^2)", box=[[-2, 2], [-1, 1]])
    assert [s.name for s in domain.segments] == ["boundary0", "boundary1"]
    assert wave_error(domain, 40.0) < 2e-13
    ring = build("level-set", function="(0.49-x^2-y^2)*(x^2+y^2-0.09)")
    assert [s.name for s in ring.segments] == ["boundary", "hole0"]


def test_inside_test_is_fast(build):
    import time

    points = np.random.default_rng(0).uniform(-1, 1, (100_000, 2))
    for kind in ("crescent", "heart", "oblique-channel", "rosette"):
        start = time.perf_counter()
        build(kind).contains(points)
        assert time.perf_counter() - start < 1.0
