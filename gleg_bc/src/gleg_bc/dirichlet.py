"""Dirichlet condition u = g."""

from __future__ import annotations

from collections.abc import Sequence

from gleg_core.contracts.boundary import BoundaryOperator
from gleg_core.contracts.jet import Jet
from gleg_core.contracts.location import Location
from gleg_core.expressions import Expression
from gleg_core.spec.params import Formula, PackParams
from pydantic import Field
from torch import Tensor


class DirichletParams(PackParams):
    """u = value."""

    value: Formula = Field(0.0, validate_default=True, description="g(x, t), the value on the boundary")


class Dirichlet(BoundaryOperator):
    """u = g; homogeneous admissible functions vanish on the segment."""

    order = 0
    vanishing = 1
    conditions = 1

    def __init__(self, params: DirichletParams):
        self._value = params.value

    def traces(self, u: Jet, at: Location) -> Sequence[Tensor]:
        return (u.value,)

    def data(self) -> Sequence[Expression]:
        return (self._value,)
