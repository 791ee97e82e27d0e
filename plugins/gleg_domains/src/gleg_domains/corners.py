"""The smallest feature of domains that are bounded by straight edges."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from gleg_domains.arcs import Arc
from gleg_domains.planar import ArcSegment, PlanarDomain

Array = np.ndarray


class StraightSided(PlanarDomain):
    """Ω between closed loops of straight edges, each loop in order with Ω on its left."""

    def __init__(self, segments: Sequence[ArcSegment], loops: Sequence[Sequence[Arc]]):
        super().__init__(segments)
        self._loops = loops

    @cached_property
    def feature_size(self) -> float:
        import shapely  # only here: a second run takes all it needs from the cache

        rings = [_vertices(loop) for loop in self._loops]
        edges = shapely.linestrings(np.concatenate([np.stack([p, np.roll(p, -1, axis=0)], axis=1) for p in rings]))
        shortest = float(shapely.length(edges).min())
        one, other = shapely.STRtree(edges).query(edges, predicate="dwithin", distance=shortest)
        return min([shortest, *(d for d in shapely.distance(edges[one], edges[other]).tolist() if d > 0.0)])


def _vertices(loop: Sequence[Arc]) -> Array:
    """Where the edges start, (n, 2)."""
    return np.concatenate([arc.at(0.0) for arc in loop])
