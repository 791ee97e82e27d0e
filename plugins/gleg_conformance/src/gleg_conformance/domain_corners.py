"""Checks of what a plane domain says about its corners and its smallest feature, if it says anything."""

import numpy as np

from gleg_conformance.domain_parts import Array, domain_of, ends_of, extent_of, largest, outlines_of
from gleg_conformance.kit import Finding, Subject, check, not_applicable, require
from gleg_core.contracts.domain import Corner

_NEAR = 1e-8
"""Points closer than this fraction of the extent are one."""


def _corners(subject: Subject) -> list[Corner]:
    corners = domain_of(subject).corners
    return list(corners) if corners is not None else not_applicable("the domain does not say where its corners are")


@check("domain", group="geometry")
def corners_have_their_angles(subject: Subject) -> Finding:
    """Around a corner, the share of a small circle that lies in Ω is that of its interior angle."""
    domain, corners = domain_of(subject), _corners(subject)
    radius = 1e-6 * extent_of(domain)
    if domain.feature_size is not None:
        radius = min(radius, 0.1 * domain.feature_size)
    turn = 2 * np.pi * (np.arange(4000) + 0.5) / 4000
    circle = radius * np.column_stack([np.cos(turn), np.sin(turn)])
    errors = [c.angle - 2 * np.pi * float(domain.contains(c.point + circle).mean()) for c in corners]
    return Finding(
        largest(np.array(errors)), 0.01, "largest difference of an interior angle from that seen in Ω, in radians"
    )


@check("domain", group="geometry")
def corners_are_ends_of_segments(subject: Subject) -> Finding:
    """A corner lies on the segments it names, at an end of each if it names two; where segments meet there is a corner."""
    domain, corners, errors = domain_of(subject), _corners(subject), [0.0]
    outlines = dict(zip([s.name for s in domain.segments], outlines_of(subject), strict=True))
    near = _NEAR * extent_of(domain)
    for corner in corners:
        names, place = corner.segments, f"the corner at {np.asarray(corner.point).tolist()}"
        require(
            0 < len(set(names)) == len(names) <= 2, f"{place} names {names}: one or two different segments meet there"
        )
        require(set(names) <= set(outlines), f"{place} names {names}, the segments are {', '.join(outlines)}")
        for name in names:
            points = np.concatenate(outlines[name] if len(names) == 1 else [ends_of(outlines[name])])
            errors.append(_distance(corner.point, points))
    for name, pieces in outlines.items():
        for end in ends_of(pieces):
            others = [other for other in outlines if other != name and _distance(end, ends_of(outlines[other])) < near]
            told = not others or any(_distance(end, np.atleast_2d(c.point)) < near for c in corners)
            require(
                told, f"segments {', '.join([name, *others])} meet at {end.tolist()}, which is not among the corners"
            )
    return Finding(
        largest(np.array(errors), extent_of(domain)), _NEAR, "largest distance of a corner from its segments / extent"
    )


@check("domain", group="geometry")
def feature_size_is_a_length(subject: Subject) -> Finding:
    """The smallest feature is positive, and no longer than the domain is wide or a piece of a segment between corners."""
    domain = domain_of(subject)
    size = domain.feature_size
    if size is None:
        not_applicable("the domain does not say how small its features are")
    require(size > 0, f"feature_size is {size!r}, a positive number is needed")
    lengths = [segment.length for segment in domain.segments] if domain.dim == 2 else []
    return Finding(
        size / min([*np.ptp(domain.bounds, axis=1), *lengths]), 1 + _NEAR, "feature_size / shortest segment or side"
    )


def _distance(point: Array, points: Array) -> float:
    return float(np.linalg.norm(points - point, axis=1).min())
