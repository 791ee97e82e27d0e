"""Polynomial reactions of one or several fields, and sources."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from gleg_blocks_polynomial.params import ConstantParams, PowerParams, ProductParams, SourceParams
from gleg_core.contracts.block import Binding, Block, Fields, Traits
from gleg_core.contracts.jet import MultiIndex
from gleg_core.contracts.location import Location


class Product(Block):
    """L(u, v, …) = u^p v^q …"""

    def __init__(self, params: ProductParams, binding: Binding):
        self._powers = dict(params.powers)
        degree = sum(self._powers.values())
        self.traits = Traits("R", order=0, degree=degree, modes=("pointwise",))
        self._dim = binding.dim

    @property
    def acts_on(self) -> str | None:
        return next(iter(self._powers)) if len(self._powers) == 1 else None

    def reference(self, fields: Fields, at: Location) -> Tensor:
        result: Tensor | None = None
        for name, power in self._powers.items():
            for _ in range(power):
                value = fields[name].value
                result = value if result is None else result * value
        assert result is not None
        return result

    def symbol(self) -> Mapping[MultiIndex, float] | None:
        return {(0,) * self._dim: 1.0} if self.traits.degree == 1 else None


class Power(Product):
    """L(u) = u^p."""

    def __init__(self, params: PowerParams, binding: Binding):
        super().__init__(ProductParams.model_construct(powers={params.of or binding.target: params.p}), binding)


class Source(Block):
    """L = f(x, t), independent of the fields."""

    def __init__(self, params: SourceParams, binding: Binding):
        self._value = params.value
        self.traits = Traits("R", order=0, degree=0, time_dependent="t" in params.value.free)

    def reference(self, fields: Fields, at: Location) -> Tensor:
        return torch.as_tensor(at(self._value), dtype=at.x.dtype, device=at.x.device) + torch.zeros_like(at.x[:, 0])


class Constant(Block):
    """L = 1."""

    traits = Traits("R", order=0, degree=0)

    def __init__(self, params: ConstantParams, binding: Binding):
        pass

    def reference(self, fields: Fields, at: Location) -> Tensor:
        return torch.ones_like(at.x[:, 0])
