"""Cahn–Hilliard  u_t = Δμ,  μ = f′(u) − ε²Δu.

With test functions that satisfy ∂_n v = 0

    ∫ v Δμ = −∫ [ε² Δv Δu + f″(u) ∇v·∇u] + ∮ v ∂_n μ,

so the second condition ∂_n μ = 0 (no flux of mass) is natural: the boundary integral is left out. v = 1 gives d/dt ∫u = 0.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from gleg_blocks_phase_field.pack import surface_energy
from gleg_blocks_phase_field.params import CahnHilliardParams
from gleg_blocks_phase_field.weak_sum import WeakSum
from gleg_core.contracts.block import Binding, Block, Fields, Traits
from gleg_core.contracts.jet import Jet, MultiIndex, unit
from gleg_core.contracts.location import Location
from gleg_core.expressions import Expression


class CahnHilliard(WeakSum):
    """L(u) = Δ(f′(u) − ε²Δu): the stiff linear part is assembled, the rest is evaluated at the nodes."""

    # R: it dissipates ∫ f(u) + ½ε²|∇u|², but ½‖u‖² grows where f″ < 0
    def __init__(self, params: CahnHilliardParams, binding: Binding):
        traits = Traits(
            "R", order=4, degree=None, modes=("weak",), invariants=("mass",), weak_traces=(1,), conditions=1
        )
        surface = surface_energy.Params.model_construct(epsilon=params.epsilon, of=params.of)
        super().__init__(traits, surface_energy.block(surface, binding), Mixing(params, binding))


class Mixing(Block):
    """L(u) = Δf′(u);  weak form −∫ f″(u) ∇v·∇u."""

    traits = Traits("R", order=2, degree=None, modes=("weak",), invariants=("mass",), weak_traces=(1,), conditions=1)

    def __init__(self, params: CahnHilliardParams, binding: Binding):
        self._field = params.of or binding.target
        self._second: Expression = params.potential.d("u")
        self._third = self._second.d("u")

    def reference(self, fields: Fields, at: Location) -> Tensor:
        """f″(u) Δu + f‴(u) |∇u|²."""
        u = fields[self._field]
        squares = torch.stack([g**2 for g in u.grad]).sum(dim=0)
        return _value(self._second, u) * u.laplacian + _value(self._third, u) * squares

    def weak(self, fields: Fields, at: Location) -> Mapping[MultiIndex, Tensor]:
        u = fields[self._field]
        slope = _value(self._second, u)
        return {unit(at.dim, i): -slope * g for i, g in enumerate(u.grad)}


def _value(f: Expression, u: Jet) -> Tensor:
    return torch.as_tensor(f(u=u.value), dtype=u.value.dtype)
