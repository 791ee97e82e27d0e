"""Robin condition ∂u/∂n + κ u = g, n the outward normal."""

from collections.abc import Sequence

from torch import Tensor

from gleg_bc.params import RobinParams
from gleg_core.contracts.boundary import BoundaryOperator, Flux
from gleg_core.contracts.jet import Jet
from gleg_core.contracts.location import Location
from gleg_core.expressions import Expression


class Robin(BoundaryOperator):
    """∂u/∂n + κ u = g, i.e. ∂u/∂n = g − κ u."""

    order = 1
    conditions = 1

    def __init__(self, params: RobinParams):
        self._kappa = params.kappa
        self._value = params.value
        self.flux = Flux(trace=0, kappa=params.kappa)

    def traces(self, u: Jet, at: Location) -> Sequence[Tensor]:
        assert at.normal is not None
        return (u.along(at.normal) + at(self._kappa) * u.value,)

    def data(self) -> Sequence[Expression]:
        return (self._value,)
