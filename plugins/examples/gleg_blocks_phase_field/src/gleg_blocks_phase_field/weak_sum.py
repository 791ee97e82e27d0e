"""Sums of mechanisms with test functions that satisfy ∂_n v = 0, so that no part has a boundary term."""

from collections.abc import Mapping

import torch
from torch import Tensor

from gleg_core.contracts.block import Block, Fields, Traits
from gleg_core.contracts.jet import MultiIndex
from gleg_core.contracts.location import Location


class WeakSum(Block):
    """L = Σ L_i, the parts in weak form or, without one, as they are."""

    def __init__(self, traits: Traits, *parts: Block):
        self.traits, self._parts = traits, parts

    @property
    def parts(self) -> tuple[Block, ...]:
        return self._parts

    def reference(self, fields: Fields, at: Location) -> Tensor:
        return torch.stack([part.reference(fields, at) for part in self._parts]).sum(dim=0)

    def weak(self, fields: Fields, at: Location) -> Mapping[MultiIndex, Tensor]:
        total: dict[MultiIndex, Tensor] = {}
        for part in self._parts:
            weak = "weak" in part.traits.modes
            tested = part.weak(fields, at) if weak else {(0,) * at.dim: part.pointwise(fields, at)}
            for alpha, values in tested.items():
                total[alpha] = total[alpha] + values if alpha in total else values
        return total
