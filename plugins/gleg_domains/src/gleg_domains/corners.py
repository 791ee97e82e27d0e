"""Corners and the smallest feature of domains that are bounded by straight edges."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from gleg_core.contracts.domain import Corner
from gleg_domains.arcs import Arc
from gleg_domains.planar import ArcSegment, PlanarDomain

Array = np.ndarray
_STRAIGHT = 1e-9
"""Edges that turn by less than this, in radians, go straight on."""


class StraightSided(PlanarDomain):
    """Ω between closed loops of straight edges, each loop in order with Ω on its left."""

    def __init__(self, segments: Sequence[ArcSegment], loops: Sequence[Sequence[Arc]]):
        super().__init__(segments)
        self._loops = loops

    @cached_property
    def corners(self) -> tuple[Corner, ...]:
        owner = {id(arc): segment.name for segment in self.segments for arc in segment.arcs}
        return tuple(corner for loop in self._loops for corner in _corners(loop, [owner[id(arc)] for arc in loop]))

    @cached_property
    def feature_size(self) -> float:
        import shapely  # only here: a second run takes all it needs from the cache

        rings = [_vertices(loop) for loop in self._loops]
        edges = shapely.linestrings(np.concatenate([np.stack([p, np.roll(p, -1, axis=0)], axis=1) for p in rings]))
        shortest = float(shapely.length(edges).min())
        one, other = shapely.STRtree(edges).query(edges, predicate="dwithin", distance=shortest)
        return min([shortest, *(d for d in shapely.distance(edges[one], edges[other]).tolist() if d > 0.0)])


def _vertices(loop: Sequence[Arc]) -> Array:
    """Where the edges start, (n, 2); a caller cannot change them."""
    points = np.concatenate([arc.at(0.0) for arc in loop])
    points.flags.writeable = False
    return points


def _corners(loop: Sequence[Arc], names: Sequence[str]) -> list[Corner]:
    """The corners of one loop, whose edges belong to the segments ``names``."""
    points = _vertices(loop)
    after = np.roll(points, -1, axis=0) - points
    before = np.roll(after, 1, axis=0)
    turn = np.arctan2(before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0], (before * after).sum(axis=1))
    return [
        Corner(points[i], float(np.pi - turn[i]), tuple(dict.fromkeys((names[i - 1], names[i]))))
        for i in range(len(loop))
        if abs(turn[i]) > _STRAIGHT or names[i - 1] != names[i]
    ]
