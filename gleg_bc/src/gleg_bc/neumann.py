"""Neumann condition ∂u/∂n = g, n the outward normal."""

from collections.abc import Sequence

from torch import Tensor

from gleg_bc.params import NeumannParams
from gleg_core.contracts.boundary import BoundaryOperator, Flux
from gleg_core.contracts.jet import Jet
from gleg_core.contracts.location import Location
from gleg_core.expressions import Expression


class Neumann(BoundaryOperator):
    """∂u/∂n = g."""

    order = 1
    vanishing = (1,)
    conditions = 1
    flux = Flux(trace=0)

    def __init__(self, params: NeumannParams):
        self._value = params.value

    def traces(self, u: Jet, at: Location) -> Sequence[Tensor]:
        assert at.normal is not None
        return (u.along(at.normal),)

    def data(self) -> Sequence[Expression]:
        return (self._value,)
