"""Dirichlet condition u = g."""

from collections.abc import Sequence

from torch import Tensor

from gleg_bc.params import DirichletParams
from gleg_core.contracts.boundary import BoundaryOperator
from gleg_core.contracts.jet import Jet
from gleg_core.contracts.location import Location
from gleg_core.expressions import Expression


class Dirichlet(BoundaryOperator):
    """u = g; homogeneous admissible functions vanish on the segment."""

    order = 0
    vanishing = (0,)
    conditions = 1

    def __init__(self, params: DirichletParams):
        self._value = params.value

    def traces(self, u: Jet, at: Location) -> Sequence[Tensor]:
        return (u.value,)

    def data(self) -> Sequence[Expression]:
        return (self._value,)
