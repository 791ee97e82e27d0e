"""Curves and corners of drawings and maps: smooth pieces with Ω on their left, exact interior angles."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gleg_domains_drawings.region import Region

Draw = Callable[..., Region]
PI = np.pi


def angles(domain: Region) -> list[float]:
    corners = domain.corners
    assert corners is not None
    return sorted(c.angle for c in corners)


def test_a_circle_has_no_corner(draw: Draw) -> None:
    assert angles(draw('<circle cx="3" cy="-2" r="1.5"/>')) == []


def test_a_rounded_rectangle_has_no_corner(draw: Draw) -> None:
    domain = draw('<rect width="2" height="1" rx=".2"/>')
    assert angles(domain) == []
    assert {curve.straight for s in domain.segments for curve in s.curves} == {True, False}


@pytest.mark.parametrize("flip", [True, False])
def test_a_half_disk_has_two_right_angles(draw: Draw, flip: bool) -> None:
    assert angles(draw('<path d="M0 0 A 1 1 0 0 1 2 0 Z"/>', flip=flip)) == pytest.approx([PI / 2] * 2, abs=1e-7)


def test_three_quarters_of_a_disk(draw: Draw) -> None:
    found = angles(draw('<path d="M0 0 L 1 0 A 1 1 0 1 1 0 -1 Z"/>'))
    assert found == pytest.approx([PI / 2, PI / 2, 3 * PI / 2], abs=1e-7)


def test_a_hole_is_seen_from_outside(draw: Draw) -> None:
    found = angles(draw('<path fill-rule="evenodd" d="M0 0h4v4h-4z M1 1h1v1h-1z"/>'))
    assert found == pytest.approx([PI / 2] * 4 + [3 * PI / 2] * 4)


def test_a_curve_whose_control_point_is_its_end(draw: Draw) -> None:
    """γ' = 0 at both ends, where the chords to the next control points, (2, −1) and (−1, 0), are the tangents."""
    found = angles(draw('<path d="M0 0 C 0 0 2 -1 2 0 L 0 0 Z"/>'))
    assert found == pytest.approx([np.arctan2(1, 2), PI / 2], abs=1e-6)


def test_named_commands_meet_at_corners(draw: Draw) -> None:
    domain = draw('<path d="M0 0 H1 H2 V1 H0 Z"/>', segments={"inlet": [0, 0]})
    assert domain.corners is not None
    straight = [c for c in domain.corners if c.angle == pytest.approx(PI)]
    assert [set(c.segments) for c in straight] == [{"inlet", "outer"}]


def test_the_shore_of_a_smooth_map_has_no_corner(chart: Draw) -> None:
    turn = 2 * PI * np.arange(31) / 31
    ring = np.column_stack([12 + 0.02 * np.cos(turn) * (1 + 0.2 * np.cos(3 * turn)), 51 + 0.01 * np.sin(turn)]).tolist()
    body = {"type": "Polygon", "coordinates": [[*ring, ring[0]]]}
    assert angles(chart(body, smooth=True)) == []
    assert len(angles(chart(body))) == 31 and sum(angles(chart(body))) == pytest.approx(29 * PI)


@pytest.mark.parametrize(
    "body",
    ['<path d="M0 0 C 1 -1 2 -1 2 0 S 3 2 1 2 Q -1 2 0 0 Z"/>', '<ellipse rx="2" ry="1" transform="rotate(30)"/>'],
)
def test_curves_follow_the_boundary(draw: Draw, body: str) -> None:
    domain, h = draw(body), 1e-6
    s = np.array([0.1, 0.4, 0.77])
    for segment in domain.segments:
        fine = np.linspace(0, 1, 20001)
        lengths = [np.hypot(*np.diff(curve.point(fine), axis=0).T).sum() for curve in segment.curves]
        assert sum(lengths) == pytest.approx(segment.length, rel=1e-8)
        for curve in segment.curves:
            along = (curve.point(s + h) - curve.point(s - h)) / (2 * h)
            assert curve.velocity is not None and curve.velocity(s) == pytest.approx(along, rel=1e-7, abs=1e-8)
            left = 1e-6 * along[:, ::-1] * [-1, 1]
            assert domain.contains(curve.point(s) + left).all() and not domain.contains(curve.point(s) - left).any()
