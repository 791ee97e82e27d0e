"""Polynomial reactions of one or several fields, and sources."""

from collections.abc import Callable, Mapping
from functools import reduce
from operator import mul

from torch import Tensor

from gleg_blocks_polynomial.params import ConstantParams, PowerParams, ProductParams, SourceParams
from gleg_core.contracts.basis import Basis
from gleg_core.contracts.block import Binding, Block, Fields, Mode, Traits
from gleg_core.contracts.jet import MultiIndex
from gleg_core.contracts.location import Location
from gleg_core.errors import PackError


class Product(Block):
    """L(u, v, …) = u^p v^q …; u itself is also available on Q, where it is the identity."""

    def __init__(self, params: ProductParams, binding: Binding):
        self._powers = dict(params.powers)
        degree = sum(self._powers.values())
        modes: tuple[Mode, ...] = ("pointwise", "ambient") if degree == 1 else ("pointwise",)
        self.traits = Traits("R", order=0, degree=degree, modes=modes)
        self._dim = binding.dim

    @property
    def acts_on(self) -> str | None:
        return next(iter(self._powers)) if len(self._powers) == 1 else None

    def reference(self, fields: Fields, at: Location) -> Tensor:
        return reduce(mul, (fields[name].power(p) for name, p in self._powers.items()))

    def ambient(self, basis: Basis, field: str) -> Callable[[Tensor], Tensor]:
        if self.traits.degree != 1:
            raise PackError("a product of degree above 1 has no ambient map: use realisation: pointwise")
        return lambda a: a

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
        return _everywhere(at(self._value), at)


class Constant(Block):
    """L = 1."""

    traits = Traits("R", order=0, degree=0)

    def __init__(self, params: ConstantParams, binding: Binding):
        pass

    def reference(self, fields: Fields, at: Location) -> Tensor:
        return _everywhere(at(1.0), at)


def _everywhere(value: Tensor, at: Location) -> Tensor:
    """A value that may be the same at all points and times, at every one of them: (n,), or (T, n) for a column of times."""
    times = at.t.shape[:-1] if isinstance(at.t, Tensor) else ()
    return value.to(at.x.dtype).expand(*times, at.x.shape[0])
