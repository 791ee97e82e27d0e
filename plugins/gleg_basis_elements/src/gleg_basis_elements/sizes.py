"""How long edges of elements may be: a largest length, and smaller ones near some places, growing with the distance from them."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import cKDTree

Array = np.ndarray
GROWTH = 0.35
"""Length of an edge may grow by so much per length."""
_NEAREST = 24
"""Places that are asked for the size at a point."""


@dataclass(frozen=True)
class Sizes:
    """``largest`` length, and lengths ``wanted`` (k,) at ``places`` (k, dim)."""

    largest: float
    places: Array
    wanted: Array

    @classmethod
    def uniform(cls, largest: float, dim: int) -> "Sizes":
        return cls(largest, np.zeros((0, dim)), np.zeros(0))

    def near(self, places: Array, wanted: Array) -> "Sizes":
        """With further places; those that change nothing are left out."""
        found = self
        small = wanted < self.largest
        for rows in np.array_split(
            np.flatnonzero(small)[np.argsort(wanted[small])], max(1, int(np.log2(1 + small.sum())))
        ):
            new = rows[wanted[rows] < 0.95 * found(places[rows])]
            found = replace(
                found, places=np.concatenate([found.places, places[new]]), wanted=np.append(found.wanted, wanted[new])
            )
        return found

    def __call__(self, points: Array) -> Array:
        """At points (n, dim): (n,)."""
        if not len(self.places) or not len(points):
            return np.full(len(points), self.largest)
        least = np.full(len(points), self.largest)
        # places of about one size together: the nearest of each class decides
        level = np.floor(np.log2(self.wanted)).astype(int)
        for one in np.unique(level):
            own = level == one
            tree = cKDTree(self.places[own])
            distance, which = tree.query(points, k=min(_NEAREST, int(own.sum())))
            sizes = self.wanted[own][which] + GROWTH * distance
            least = np.minimum(least, sizes.reshape(len(points), -1).min(axis=1))
        return least
