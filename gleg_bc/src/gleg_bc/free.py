"""No condition on a segment."""

from collections.abc import Sequence

from torch import Tensor

from gleg_bc.params import FreeParams
from gleg_core.contracts.boundary import BoundaryOperator
from gleg_core.contracts.jet import Jet
from gleg_core.contracts.location import Location
from gleg_core.expressions import Expression


class Free(BoundaryOperator):
    """No rows: for equations whose mechanisms contain no derivatives."""

    order = 0
    conditions = 0

    def __init__(self, params: FreeParams):
        pass

    def traces(self, u: Jet, at: Location) -> Sequence[Tensor]:
        return ()

    def data(self) -> Sequence[Expression]:
        return ()
