"""Diffusion with a diffusivity that varies in space, ∇·(D(x)∇u): the gradient flow of ½ ∫ D |∇u|²."""

from collections.abc import Mapping

from torch import Tensor

from gleg_blocks_diffusion.params import VariableDiffusionParams
from gleg_core.contracts.block import Binding, Block, Fields, Traits
from gleg_core.contracts.jet import MultiIndex, unit
from gleg_core.contracts.location import COORDINATES, Location


class VariableDiffusion(Block):
    """L(u) = ∇·(D∇u) = D Δu + ∇D·∇u;  weak form −∫ D ∇v·∇u + ∮ v D ∂_n u."""

    traits = Traits("E", order=2, degree=1, modes=("weak", "pointwise"))

    def __init__(self, params: VariableDiffusionParams, binding: Binding):
        self._field = params.of or binding.target
        self._diffusivity = params.diffusivity
        self._gradient = [params.diffusivity.d(c) for c in COORDINATES[: binding.dim]]

    @property
    def acts_on(self) -> str:
        return self._field

    def reference(self, fields: Fields, at: Location) -> Tensor:
        u = fields[self._field]
        along = (at(slope) * g for slope, g in zip(self._gradient, u.grad, strict=True))
        return sum(along, at(self._diffusivity) * u.laplacian)

    def weak(self, fields: Fields, at: Location) -> Mapping[MultiIndex, Tensor]:
        u = fields[self._field]
        return {unit(u.dim, i): -at(self._diffusivity) * g for i, g in enumerate(u.grad)}

    def weak_boundary(self, fields: Fields, at: Location) -> Tensor:
        assert at.normal is not None
        return at(self._diffusivity) * fields[self._field].along(at.normal)
