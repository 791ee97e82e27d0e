"""Advection of one field by another, a ∂u/∂x_i: the cross terms of vector Burgers and of flows, such as v ∂u/∂y."""

from collections.abc import Mapping

from torch import Tensor

from gleg_blocks_transport.params import CrossAdvectionParams
from gleg_core.contracts.block import Binding, Block, Fields, Traits
from gleg_core.contracts.jet import MultiIndex, unit
from gleg_core.contracts.location import COORDINATES, Location


class CrossAdvection(Block):
    """L(u, a) = a ∂_i u;  weak form ½ ∫ [ v a ∂_i u − ∂_i v a u − v ∂_i a u ] + ½ ∮ v n_i a u.

    One direction alone conserves nothing (R); the sum over all directions of a solenoidal field (a_1, …, a_d)
    conserves ½∫u², in the weak form up to the discrete ∇·a.
    """

    traits = Traits("R", order=1, degree=2, modes=("weak", "pointwise"))

    def __init__(self, params: CrossAdvectionParams, binding: Binding):
        self._field = params.of or binding.target
        self._by = params.by
        self._axis = COORDINATES.index(params.direction)
        self._dim = binding.dim

    def reference(self, fields: Fields, at: Location) -> Tensor:
        return fields[self._by].value * fields[self._field].d(unit(self._dim, self._axis))

    def weak(self, fields: Fields, at: Location) -> Mapping[MultiIndex, Tensor]:
        u, a, i = fields[self._field], fields[self._by], unit(self._dim, self._axis)
        return {
            (0,) * self._dim: 0.5 * (a.value * u.d(i) - a.d(i) * u.value),
            i: -0.5 * a.value * u.value,
        }

    def weak_boundary(self, fields: Fields, at: Location) -> Tensor:
        assert at.normal is not None
        return 0.5 * at.normal[:, self._axis] * fields[self._by].value * fields[self._field].value
