"""Directional quadratic transport u ∂u/∂x_i: the Hamiltonian flow ∂_i δH/δu of H(u) = ∫ u³/6, since u ∂_i u = ∂_i (u²/2)."""

from collections.abc import Mapping

from torch import Tensor

from gleg_blocks_transport.params import TransportParams
from gleg_core.contracts.block import Binding, Block, Fields, Traits
from gleg_core.contracts.jet import MultiIndex, unit
from gleg_core.contracts.location import COORDINATES, Location


class Transport(Block):
    """L(u) = u ∂_i u;  weak form −∫ ∂_i v u²/2 + ∮ v n_i u²/2.

    Where u = 0 on ∂Ω it conserves mass ∫u and energy ½∫u².
    """

    traits = Traits("H", order=1, degree=2, modes=("weak", "pointwise"), invariants=("mass", "energy"))

    def __init__(self, params: TransportParams, binding: Binding):
        self._field = params.of or binding.target
        self._axis = COORDINATES.index(params.direction)
        self._dim = binding.dim

    def reference(self, fields: Fields, at: Location) -> Tensor:
        u = fields[self._field]
        return u.value * u.d(unit(self._dim, self._axis))

    def weak(self, fields: Fields, at: Location) -> Mapping[MultiIndex, Tensor]:
        return {unit(self._dim, self._axis): -0.5 * fields[self._field].value ** 2}

    def weak_boundary(self, fields: Fields, at: Location) -> Tensor:
        assert at.normal is not None
        return 0.5 * at.normal[:, self._axis] * fields[self._field].value ** 2
