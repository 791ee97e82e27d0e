"""Diffusion Δu: the L² gradient flow of E(u) = ½ ∫ |∇u|²."""

from collections.abc import Callable, Mapping

from torch import Tensor

from gleg_blocks_diffusion.params import DiffusionParams
from gleg_core.contracts.basis import Basis
from gleg_core.contracts.block import Binding, Block, Fields, Traits
from gleg_core.contracts.jet import MultiIndex, unit
from gleg_core.contracts.location import Location
from gleg_core.errors import PackError


class Diffusion(Block):
    """L(u) = Δu;  weak form −∫ ∇v·∇u + ∮ v ∂_n u;  on Q it multiplies the mode of wavevector κ by −|κ|²."""

    traits = Traits("E", order=2, degree=1, modes=("weak", "pointwise", "ambient"))

    def __init__(self, params: DiffusionParams, binding: Binding):
        self._field = params.of or binding.target
        self._dim = binding.dim

    @property
    def acts_on(self) -> str:
        return self._field

    def reference(self, fields: Fields, at: Location) -> Tensor:
        return fields[self._field].laplacian

    def weak(self, fields: Fields, at: Location) -> Mapping[MultiIndex, Tensor]:
        return {unit(self._dim, i): -g for i, g in enumerate(fields[self._field].grad)}

    def weak_boundary(self, fields: Fields, at: Location) -> Tensor:
        assert at.normal is not None
        return fields[self._field].along(at.normal)

    def ambient(self, basis: Basis, field: str) -> Callable[[Tensor], Tensor]:
        if basis.wavevectors is None:
            raise PackError(
                f"diffusion: realisation 'ambient' needs a basis of plane waves, {type(basis).__name__} has none; "
                "use realisation: weak or pointwise"
            )
        symbol = -(basis.wavevectors**2).sum(dim=1)
        return lambda a: symbol.to(a.device) * a

    def symbol(self) -> Mapping[MultiIndex, float]:
        return {unit(self._dim, i, 2): 1.0 for i in range(self._dim)}
