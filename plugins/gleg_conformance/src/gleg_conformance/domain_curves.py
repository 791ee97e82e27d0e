"""Checks of the smooth curves that a plane domain may give: elements follow them."""

from itertools import pairwise

import numpy as np

from gleg_conformance.domain_parts import Array, domain_of, extent_of, largest
from gleg_conformance.kit import Finding, Subject, applies_if, check, require, worst
from gleg_core.contracts.domain import Curve

_INNER = np.array([0.03, 0.21, 0.38, 0.5, 0.67, 0.84, 0.98])
"""Where a curve is looked at."""
_STEPS = np.linspace(-1.0, 1.0, 17)
Named = dict[str, list[Curve]]


def _curves(subject: Subject) -> Named:
    """The curves of every segment, by its name."""
    segments = domain_of(subject).segments
    found = {segment.name: segment.curves for segment in segments}
    applies_if(all(curves is not None for curves in found.values()), "the domain does not know its curves")
    return {name: list(curves or ()) for name, curves in found.items()}


def _each(curves: Named) -> list[tuple[str, Curve]]:
    """Every curve with words for it."""
    return [(f"curve {i} of segment '{name}'", c) for name, parts in curves.items() for i, c in enumerate(parts)]


@check("domain", group="curves")
def curves_have_the_domain_on_their_left(subject: Subject) -> Finding:
    """Curves give points (n, 2) in float64; a small step to the left of a curve is in Ω, one to the right is not."""
    domain, wrong, count, where = domain_of(subject), 0, 0, ""
    step, h = 1e-6 * extent_of(domain), 1e-5
    for told, curve in _each(_curves(subject)):
        points = curve.point(_INNER)
        good = points.shape == (len(_INNER), 2) and points.dtype == np.float64
        require(good, f"{told} gives {points.dtype} of shape {points.shape} for {len(_INNER)} parameters")
        along = curve.point(_INNER + h) - curve.point(_INNER - h)
        left = step * along[:, ::-1] * [-1.0, 1.0] / np.linalg.norm(along, axis=1)[:, None]
        missed = int((~domain.contains(points + left) | domain.contains(points - left)).sum())
        wrong, count, where = wrong + missed, count + len(points), where or (told if missed else "")
    first = f", first on {where}" if where else ""
    return Finding(wrong / count, 0.0, f"{wrong} of {count} points of curves have Ω on the wrong side{first}; fraction")


@check("domain", group="curves")
def curves_have_the_length(subject: Subject) -> Finding:
    """The curves of each segment are together as long as the segment."""
    found = []
    for segment in domain_of(subject).segments:
        drawn = sum(map(_length, _curves(subject)[segment.name]))
        told = f"segment '{segment.name}': its curves are {drawn:.10g} long, it says {segment.length:.10g}"
        found.append((abs(drawn / segment.length - 1), told))
    error, words = worst(found)
    return Finding(error, 1e-7, f"{words}; relative difference")


def _length(curve: Curve) -> float:
    """By chords of three sizes, whose errors fall as h² and h⁴."""
    chords = [
        float(np.linalg.norm(np.diff(curve.point(np.linspace(0.0, 1.0, n + 1)), axis=0), axis=1).sum())
        for n in (512, 1024, 2048)
    ]
    coarse, fine = (4 * b - a for a, b in pairwise(chords))
    return (16 * fine - coarse) / 45


@check("domain", group="curves")
def samples_lie_on_the_curves(subject: Subject) -> Finding:
    """Sampled points of each segment lie on one of its curves."""
    domain, found = domain_of(subject), []
    for segment in domain.segments:
        curves, points = _curves(subject)[segment.name], segment.sample(40).points[:120]
        require(bool(curves), f"segment '{segment.name}' has an empty list of curves")
        found.append((farthest(curves, points) / extent_of(domain), f"segment '{segment.name}'"))
    return Finding.worst(found, 1e-9, "largest distance from a sample to the curves / extent")


def farthest(curves: list[Curve], points: Array) -> float:
    """The largest distance of the points (n, 2) from the curves: from the nearest of many parameters of every curve that may be the nearest
    one, then from ever closer ones around it."""
    coarse = np.linspace(0.0, 1.0, max(9, 1 + 512 // len(curves)))
    spread = [curve.point(coarse) for curve in curves]
    near = np.stack([((points[:, None] - s) ** 2).sum(axis=2) for s in spread])
    best, distances = np.sqrt(near.min(axis=(0, 2))), np.full(len(points), np.inf)
    for curve, some, squares in zip(curves, spread, near, strict=True):
        spacing = np.linalg.norm(np.diff(some, axis=0), axis=1).max()
        mine = np.flatnonzero(np.sqrt(squares.min(axis=1)) <= best + spacing)
        at, width = coarse[squares[mine].argmin(axis=1)], coarse[1]
        for _ in range(18):
            tried = np.clip(at[:, None] + width * _STEPS, 0.0, 1.0)
            away = curve.point(tried.ravel()).reshape(*tried.shape, 2) - points[mine][:, None]
            closest = np.linalg.norm(away, axis=2).argmin(axis=1)
            at, width = tried[np.arange(len(at)), closest], 0.2 * width
        distances[mine] = np.minimum(distances[mine], np.linalg.norm(curve.point(at) - points[mine], axis=1))
    return largest(distances)


@check("domain", group="curves")
def curves_join(subject: Subject) -> Finding:
    """Every curve ends where one starts and starts where one ends: together they are closed."""
    ends = np.array([curve.ends for _, curve in _each(_curves(subject))])
    distance = np.linalg.norm(ends[:, None, 1] - ends[None, :, 0], axis=2)
    gaps = np.append(distance.min(axis=0), distance.min(axis=1))
    return Finding(largest(gaps, extent_of(domain_of(subject))), 1e-9, "largest gap between ends of curves / extent")


@check("domain", group="curves")
def velocities_of_curves_match_differences(subject: Subject) -> Finding:
    """The velocity of a curve, if it gives one, is γ'; a curve that is said to be straight is."""
    found, h = [(0.0, "no curve gives a velocity")], 1e-4
    for told, curve in _each(_curves(subject)):
        a, b, c, d = (curve.point(_INNER + k * h) for k in (-2, -1, 1, 2))
        start, stop = curve.ends
        if curve.straight:
            x, y = (curve.point(_INNER) - start).T
            off = np.abs(x * (stop - start)[1] - y * (stop - start)[0]).max() / np.linalg.norm(stop - start) ** 2
            require(
                off < 1e-9,
                f"{told} is said to be straight and leaves the line between its ends by {off:.3g} of its length",
            )
        if curve.velocity is not None:
            slope = (a - 8 * b + 8 * c - d) / (12 * h)
            size = np.linalg.norm(slope, axis=1).max()
            found.append((largest(curve.velocity(_INNER) - slope, size), told))
    return Finding.worst(found, 1e-6, "largest difference of a velocity from differences of points / largest velocity")
