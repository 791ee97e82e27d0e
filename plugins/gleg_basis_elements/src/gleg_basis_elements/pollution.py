"""What cells beside rough points leave acts far away.

Near a corner both the solution u and that of the adjoint problem behave like r^λ. By Aubin and Nitsche's argument the error e of elements
is ‖e‖² = a(u − u_h, w − w_h), −Δw = e: a cell of size h at a distance r from a corner with λ < 1, where ∇w grows like (R/r)^{1−λ} up to
the distance R to the next one, contributes (R/r)^{1−λ} times what it leaves of u itself, and the contributions of all these cells have one
sign. They add up, where errors of other cells add in the mean square.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from gleg_basis_elements.triangles import Triangles
from gleg_core.contracts.domain import RoughPoint

Array = np.ndarray
_SHARE = 0.5
"""Of the sum of all contributions that is the error: 0.2 to 0.5 on an L-shape, a slit and coasts of 20 and 50 edges."""
_REACH = 0.5
"""Distance, in units of the domain's extent, up to which a corner is felt at most."""


@dataclass(frozen=True)
class Pollution:
    """Of cells (E,): how many times what they leave counts, and whether a rough point is a vertex of theirs (``innermost``), so that what
    polynomials of higher degree would add there is of the size of the last degree."""

    factor: Array
    innermost: Array

    @classmethod
    def nowhere(cls, cells: int) -> "Pollution":
        return cls(np.ones(cells), np.zeros(cells, dtype=bool))

    @classmethod
    def around(cls, rough: Sequence[RoughPoint], functions: Triangles) -> "Pollution":
        """Where a value jumps (λ = 0) w is smooth even so."""
        rough = [point for point in rough if point.exponent < 1.0]
        if not rough:
            return cls.nowhere(len(functions.triangles))
        places, exponent = np.array([point.point for point in rough]), np.array([point.exponent for point in rough])
        corners = cKDTree(places)
        reach = _REACH * float(np.ptp(functions.mesh.points, axis=0).max())
        apart = np.minimum(corners.query(places, k=2)[0][:, 1], reach)
        vertices = cKDTree(functions.mesh.points).query(places)[1]
        innermost = np.asarray(np.isin(functions.triangles, vertices).any(axis=1))
        distance, nearest = corners.query(functions.centres)
        distance = np.where(innermost, functions.diameters(), distance)
        power = np.where(exponent > 0.0, 1.0 - exponent, 0.0)
        return cls(np.maximum(apart[nearest] / distance, 1.0) ** power[nearest], innermost)

    def of(self, cells: Array) -> "Pollution":
        """Of some of the cells, or of all in another order."""
        return Pollution(self.factor[cells], self.innermost[cells])

    def counted(self, left_out: Array, last: Array) -> Array:
        """Errors (..., E) of cells, to be added in the mean square, from what they leave of u and the size of the last degrees there."""
        remote = np.where(self.innermost, last, np.where(self.factor > 1.0, _SHARE * left_out, 0.0)) * self.factor
        return np.maximum(left_out, np.sqrt(remote * remote.sum(axis=-1, keepdims=True)))
