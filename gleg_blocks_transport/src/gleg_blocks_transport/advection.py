"""Linear advection b·∇u with a given velocity b(x, t)."""

from collections.abc import Mapping
from functools import reduce

import torch
from torch import Tensor

from gleg_blocks_transport.params import AdvectionParams
from gleg_core.contracts.block import Binding, Block, Fields, Traits
from gleg_core.contracts.jet import MultiIndex, unit
from gleg_core.contracts.location import COORDINATES, Location


class Advection(Block):
    """L(u) = b·∇u;  weak form, skew where ∇·b = 0,

        ½ ∫ [ v b·∇u − (b·∇v) u − v (∇·b) u ] + ½ ∮ v (b·n) u.

    If ∇·b = 0 it conserves mass and energy where (b·n) u = 0 on ∂Ω. Then it counts as conservative (H), else as R;
    ∇·b = 0 is recognised if the derivatives ∂b_i/∂x_i are numbers, as for rotation, strain and shear.
    """

    def __init__(self, params: AdvectionParams, binding: Binding):
        self._field = params.of or binding.target
        self._velocity = params.velocity
        self._rates = [b.d(c) for b, c in zip(params.velocity, COORDINATES[: binding.dim], strict=True)]
        numbers = [rate.number for rate in self._rates]
        self._solenoidal = None not in numbers and sum(n for n in numbers if n is not None) == 0.0
        self.traits = Traits(
            "H" if self._solenoidal else "R",
            order=1,
            degree=1,
            modes=("weak", "pointwise"),
            invariants=("mass", "energy") if self._solenoidal else (),
            time_dependent=any("t" in b.free for b in params.velocity),
        )

    @property
    def acts_on(self) -> str:
        return self._field

    def reference(self, fields: Fields, at: Location) -> Tensor:
        return reduce(torch.add, map(torch.mul, self._b(at), fields[self._field].grad))

    def weak(self, fields: Fields, at: Location) -> Mapping[MultiIndex, Tensor]:
        u, b = fields[self._field], self._b(at)
        source = reduce(torch.add, map(torch.mul, b, u.grad))
        if not self._solenoidal:
            source = source - reduce(torch.add, map(at, self._rates)) * u.value
        flux = {unit(u.dim, i): -0.5 * b_i * u.value for i, b_i in enumerate(b)}
        return {(0,) * u.dim: 0.5 * source, **flux}

    def weak_boundary(self, fields: Fields, at: Location) -> Tensor:
        assert at.normal is not None
        return 0.5 * reduce(torch.add, map(torch.mul, self._b(at), at.normal.T)) * fields[self._field].value

    def symbol(self) -> Mapping[MultiIndex, float] | None:
        numbers = [b.number for b in self._velocity]
        dim = len(numbers)
        known = {unit(dim, i): b for i, b in enumerate(numbers) if b is not None}
        return known if len(known) == dim else None

    def _b(self, at: Location) -> list[Tensor]:
        """(b_1, …, b_d) here, each (n,), or 0-d if it is the same everywhere."""
        return [at(b) for b in self._velocity]
