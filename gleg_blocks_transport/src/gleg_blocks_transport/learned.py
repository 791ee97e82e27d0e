"""Quadratic transport learned as a Hamiltonian: H_θ(u) = ∫ h_θ(u), J = ∂/∂x_i, one scalar density for every direction.

    L_θ(u) = J δH/δu = ∂_i h_θ′(u) ≈ u ∂_i u,      h_θ(u) = U Σ_{p=2}^{P} θ_p (u/U)^p

The powers start at 2, so h(0) = h′(0) = 0 for any weights: a constant in h′ would be invisible on a periodic box but would act as a
force on the boundary of Ω. J is skew by construction; the weak form −∫ ∂_i v h′(u) keeps that on Ω.
"""

from collections.abc import Mapping
from typing import Self

import numpy as np
import torch
from torch import Tensor

from gleg_blocks_transport.params import TransportParams
from gleg_blocks_transport.quadratic import Transport
from gleg_core.contracts.block import Binding, Block, Fields, Traits
from gleg_core.contracts.jet import MultiIndex, unit
from gleg_core.contracts.learned import LearnedBlock, derivative
from gleg_core.contracts.location import COORDINATES, Location
from gleg_core.weights.guard import RangeGuard
from gleg_core.weights.load import load_frozen

_HIGHEST = 8
_NEGLIGIBLE = 1e-14
_SCALE = 4.0
"""U, the largest amplitude of the training states."""


def transport(params: TransportParams, binding: Binding) -> Block:
    """The learned block, or its analytic twin."""
    return Transport(params, binding) if params.twin == "analytic" else LearnedTransport(params, binding)


class Density(torch.nn.Module):
    """h_θ: R → R, the weights θ_2 … θ_P."""

    def __init__(self) -> None:
        super().__init__()
        self.theta = torch.nn.Parameter(torch.zeros(_HIGHEST - 1, dtype=torch.float64))

    def forward(self, u: Tensor) -> Tensor:
        """h(u) pointwise, by Horner's rule."""
        v, weights = u / _SCALE, self.theta.to(u.dtype)
        total = weights[-1] * v
        for theta in weights[:-1].flip(0):
            total = (total + theta) * v
        return _SCALE * total * v


class LearnedTransport(LearnedBlock):
    """L_θ(u) = ∂_i h_θ′(u);  weak form −∫ ∂_i v h_θ′(u) + ∮ v n_i h_θ′(u)."""

    weights = "gleg_blocks_transport:transport"
    recipe = "gleg_blocks_transport:transport.recipe.yaml"
    traits = Traits("H", order=1, degree=2, modes=("weak", "pointwise"), invariants=("mass", "energy"))

    module: Density

    def __init__(self, params: TransportParams, binding: Binding, trained: bool = True):
        self._field = params.of or binding.target
        self._axis, self._dim = COORDINATES.index(params.direction), binding.dim
        self.law = Transport(params, binding)
        self.module = Density()
        self._guard = RangeGuard(load_frozen(self.module, self.weights, "transport:transport")) if trained else None

    @classmethod
    def untrained(cls, params: TransportParams, binding: Binding) -> Self:  # type: ignore[override]
        block = cls(params, binding, trained=False)
        torch.nn.init.normal_(block.module.theta, std=0.1)
        return block

    def slope(self, u: Tensor, order: int = 1) -> Tensor:
        """h_θ′(u) ≈ u²/2, or h_θ″(u) ≈ u for order 2."""
        if self._guard is not None:
            self._guard.amplitude(u)
        return derivative(self.module, u, order, self.trainable)

    def card_curves(self) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """For pictures: h′(u) against u over the certified range, learned and exact."""
        u = torch.linspace(-_SCALE, _SCALE, 201, dtype=torch.float64)
        return {"h′(u)": (u.numpy(), self.slope(u).detach().numpy(), (u**2 / 2).numpy())}

    def response(self, fields: Fields, at: Location) -> Tensor:
        u = fields[self._field]
        return self.slope(u.value, order=2) * u.grad[self._axis]

    def weak(self, fields: Fields, at: Location) -> Mapping[MultiIndex, Tensor]:
        return {unit(self._dim, self._axis): -self.slope(fields[self._field].value)}

    def weak_boundary(self, fields: Fields, at: Location) -> Tensor:
        assert at.normal is not None
        return at.normal[:, self._axis] * self.slope(fields[self._field].value)
