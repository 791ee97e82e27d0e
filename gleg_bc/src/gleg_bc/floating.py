"""Floating condition u = c(t), the constant c unknown, for inner boundaries."""

from collections.abc import Sequence

from torch import Tensor

from gleg_bc.params import FloatingParams
from gleg_core.contracts.boundary import BoundaryOperator, Flux
from gleg_core.contracts.jet import Jet
from gleg_core.contracts.location import Location


class Floating(BoundaryOperator):
    """u = c on the segment, c(t) such that ∮ ∂u/∂n ds = 0 there.

    The row at x_b is u(x_b) − ∮u ds/∮ds. Test functions v are constant on the segment too, so ∮ v ∂_n u = v ∮ ∂_n u: stating ∂_n u = 0 to
    a weak form states just that the net flux is zero.
    """

    order = 0
    conditions = 1
    flux = Flux(trace=0)

    def __init__(self, params: FloatingParams):
        pass

    def traces(self, u: Jet, at: Location) -> Sequence[Tensor]:
        assert at.weights is not None
        mean = (u.value * at.weights).sum(-1, keepdim=True) / at.weights.sum()
        return (u.value - mean,)

    def data(self) -> Sequence[float]:
        return (0.0,)
