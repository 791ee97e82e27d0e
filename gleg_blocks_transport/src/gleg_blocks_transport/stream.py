"""Advection by the flow of a streamfunction, (∇^⊥Ψ + ∇^⊥ψ)·∇ω with ∇^⊥ψ = (ψ_y, −ψ_x): vorticity in two dimensions."""

from collections.abc import Mapping
from functools import reduce

import torch
from torch import Tensor

from gleg_blocks_transport.params import StreamAdvectionParams
from gleg_core.contracts.block import Binding, Block, Fields, Traits
from gleg_core.contracts.jet import MultiIndex
from gleg_core.contracts.location import Location


class StreamAdvection(Block):
    """L(ω) = b·∇ω with b = ∇^⊥(Ψ + ψ), Ψ a given formula and ψ a field;  weak form

        ½ ∫ [ v b·∇ω − (b·∇v) ω ] + ½ ∮ v (b·n) ω,

    skew for any quadrature because ∇·b = 0 identically: ½∫ω² is kept where (b·n) ω = 0 on ∂Ω. The given part is linear
    and becomes a matrix; the other is quadratic.
    """

    def __init__(self, params: StreamAdvectionParams, binding: Binding):
        self._params, self._binding = params, binding
        self._field = params.of or binding.target
        psi = params.background
        self._given = None if psi is None else (psi.d("x"), psi.d("y"))
        self.traits = Traits(
            "H",
            order=1,
            degree=1 if params.stream is None else 2,
            modes=("weak", "pointwise"),
            invariants=("mass", "energy"),
            time_dependent=psi is not None and "t" in psi.free,
        )

    @property
    def acts_on(self) -> str | None:
        return self._field if self._params.stream is None else None

    @property
    def parts(self) -> tuple[Block, ...]:
        if self._params.stream is None or self._params.background is None:
            return (self,)
        alone = ({"background": None}, {"stream": None})
        return tuple(StreamAdvection(self._params.model_copy(update=without), self._binding) for without in alone)

    def reference(self, fields: Fields, at: Location) -> Tensor:
        (b_x, b_y), (w_x, w_y) = self._velocity(fields, at), fields[self._field].grad
        return b_x * w_x + b_y * w_y

    def weak(self, fields: Fields, at: Location) -> Mapping[MultiIndex, Tensor]:
        (b_x, b_y), w = self._velocity(fields, at), fields[self._field]
        source = b_x * w.grad[0] + b_y * w.grad[1]
        return {(0, 0): 0.5 * source, (1, 0): -0.5 * b_x * w.value, (0, 1): -0.5 * b_y * w.value}

    def weak_boundary(self, fields: Fields, at: Location) -> Tensor:
        assert at.normal is not None
        b_x, b_y = self._velocity(fields, at)
        return 0.5 * (b_x * at.normal[:, 0] + b_y * at.normal[:, 1]) * fields[self._field].value

    def _velocity(self, fields: Fields, at: Location) -> tuple[Tensor, Tensor]:
        """b = (Ψ_y + ψ_y, −Ψ_x − ψ_x), each (..., n), or 0-d if it is the same everywhere."""
        gradients = [] if self._given is None else [[at(slope) for slope in self._given]]
        if self._params.stream is not None:
            gradients.append(list(fields[self._params.stream].grad))
        psi_x, psi_y = (reduce(torch.add, slopes) for slopes in zip(*gradients, strict=True))
        return psi_y, -psi_x
