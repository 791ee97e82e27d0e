"""Clamped condition u = g and ∂u/∂n = h, for fourth-order equations."""

from collections.abc import Sequence

from torch import Tensor

from gleg_bc.params import ClampedParams
from gleg_core.contracts.boundary import BoundaryOperator, Flux
from gleg_core.contracts.jet import Jet
from gleg_core.contracts.location import Location
from gleg_core.expressions import Expression


class Clamped(BoundaryOperator):
    """u = g and ∂u/∂n = h; both traces of homogeneous admissible functions vanish."""

    order = 1
    vanishing = (0, 1)
    conditions = 2
    flux = Flux(trace=1)

    def __init__(self, params: ClampedParams):
        self._params = params

    def traces(self, u: Jet, at: Location) -> Sequence[Tensor]:
        assert at.normal is not None
        return (u.value, u.along(at.normal))

    def data(self) -> Sequence[Expression]:
        return (self._params.value, self._params.slope)
