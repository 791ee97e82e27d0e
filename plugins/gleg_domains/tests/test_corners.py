"""Corners and smallest features of hand-made shapes."""

import json

import numpy as np
import pytest

PI = np.pi
L_SHAPE = [[0, 0], [2, 0], [2, 0.7], [0.5, 0.7], [0.5, 2], [0, 2]]


def angles(domain):
    return {tuple(c.point.tolist()): c.angle for c in domain.corners}


@pytest.mark.parametrize("order", [1, -1], ids=["counter-clockwise", "clockwise"])
def test_an_l_shape_has_one_reentrant_corner(build, order):
    found = angles(build("polygon", vertices=L_SHAPE[::order]))
    assert found == pytest.approx({tuple(map(float, p)): PI / 2 for p in L_SHAPE} | {(0.5, 0.7): 3 * PI / 2})


def test_corners_name_the_segments_that_meet(build):
    domain = build("polygon", vertices=L_SHAPE, segments={"south": [0, 0], "notch": [2, 3]})
    meeting = {tuple(c.point.tolist()): set(c.segments) for c in domain.corners}
    assert meeting[0.0, 0.0] == meeting[2.0, 0.0] == {"south", "boundary"}
    assert meeting[0.5, 0.7] == {"notch"} and meeting[0.0, 2.0] == {"boundary"}
    assert meeting[2.0, 0.7] == meeting[0.5, 2.0] == {"notch", "boundary"}


def test_holes_have_reentrant_corners(build):
    hole = [[0.4, 0.4], [0.6, 0.4], [0.5, 0.6]]
    for holes in ([hole], [hole[::-1]]):
        domain = build("polygon", vertices=[[0, 0], [1, 0], [1, 1], [0, 1]], holes=holes)
        found = angles(domain)
        assert {found[p] for p in ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0))} == {PI / 2}
        inner = [found[tuple(p)] for p in hole]
        assert min(inner) > PI and sum(inner) == pytest.approx(5 * PI)  # 3 · 2π less the angles of a triangle
        assert all(c.segments == ("hole0",) for c in domain.corners if tuple(c.point.tolist()) in map(tuple, hole))


def test_a_vertex_on_a_straight_edge_is_a_corner_only_where_segments_meet(build):
    square = [[0, 0], [0.5, 0], [1, 0], [1, 1], [0, 1]]
    assert (0.5, 0.0) not in angles(build("polygon", vertices=square))
    assert angles(build("polygon", vertices=square, segments={"inlet": [0, 0]}))[0.5, 0.0] == pytest.approx(PI)


def test_a_rectangle_and_a_file_tell_their_corners(build, tmp_path):
    rectangle = build("rectangle", x=[0, 3], y=[-1, 1])
    assert angles(rectangle) == {(x, y): PI / 2 for x in (0.0, 3.0) for y in (-1.0, 1.0)}
    assert {c.segments for c in rectangle.corners} == {
        ("left", "bottom"),
        ("bottom", "right"),
        ("right", "top"),
        ("top", "left"),
    }
    ring = [*L_SHAPE, L_SHAPE[0]]
    (tmp_path / "l.geojson").write_text(json.dumps({"type": "Polygon", "coordinates": [ring]}))
    domain = build("geojson", folder=str(tmp_path), path="l.geojson")
    assert sum(a > PI for a in angles(domain).values()) == 1 and domain.feature_size == 0.5


def test_the_smallest_feature(build):
    assert build("rectangle", x=[0, 3], y=[-1, 1]).feature_size == 2.0
    assert build("polygon", vertices=L_SHAPE).feature_size == 0.5
    slit = [
        [0, 0],
        [3, 0],
        [3, 2],
        [1.51, 2],
        [1.5, 0.1],
        [1.49, 2],
        [0, 2],
    ]  # a wedge is cut out, 0.02 wide at the top
    assert build("polygon", vertices=slit).feature_size == pytest.approx(0.02, rel=1e-4)
    square, hole = [[0, 0], [1, 0], [1, 1], [0, 1]], [[0.3, 0.05], [0.7, 0.3], [0.3, 0.7]]
    assert build("polygon", vertices=square, holes=[hole]).feature_size == pytest.approx(0.05)


def test_a_coastline_of_thousands_of_edges(build):
    turn = 2 * PI * np.arange(4000) / 4000
    radius = 1 + 0.02 * np.cos(100 * turn)
    points = np.column_stack([radius * np.cos(turn), radius * np.sin(turn)])
    domain = build("polygon", vertices=points.tolist())
    assert sum(c.angle for c in domain.corners) == pytest.approx(3998 * PI, rel=1e-12)
    edges = np.hypot(*(np.roll(points, -1, axis=0) - points).T)
    assert domain.feature_size == pytest.approx(edges.min(), rel=1e-12)


def test_curved_domains_do_not_tell_their_smallest_feature(build):
    for kind, params in (("disk", {"radius": 1.0}), ("crescent", {}), ("interval", {"left": 0, "right": 1})):
        assert build(kind, **params).feature_size is None
    assert build("interval", left=0, right=1).corners is None
