"""Robin condition ∂u/∂n + κ u = g, n the outward normal."""

from __future__ import annotations

from collections.abc import Sequence

from gleg_core.contracts.boundary import BoundaryOperator, Flux
from gleg_core.contracts.jet import Jet
from gleg_core.contracts.location import Location
from gleg_core.expressions import Expression
from gleg_core.spec.params import Formula, PackParams, SpaceFormula
from pydantic import Field
from torch import Tensor


class RobinParams(PackParams):
    """∂u/∂n + kappa u = value."""

    kappa: SpaceFormula = Field(description="κ(x), 1/length; constant in time because it enters the admissible space")
    value: Formula = Field(0.0, validate_default=True, description="g(x, t)")


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
