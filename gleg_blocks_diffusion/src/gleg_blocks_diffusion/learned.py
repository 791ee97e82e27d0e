"""Diffusion learned as an energy: E_θ(u) = ½ ∫ |L₁∇u|² + ½ s⁻² ∫ |L₂ D²u|², a sum of squares whatever the weights.

On Q its symbol is c(κ) = |L₁κ|² + s⁻²|L₂ m(κ)|² ≥ 0 with the monomials m of degree 2, one function of the wavevector for every cutoff K.
On Ω the same energy is integrated over Ω, so the realised block is −∇_z E_Ω: symmetric and dissipative for any domain.
Wavevectors are taken on the box [−1, 1]^d (κ times the half width), so a certificate holds in any unit of length.
"""

from collections.abc import Callable, Mapping
from functools import reduce
from itertools import combinations_with_replacement
from typing import Self

import numpy as np
import torch
from torch import Tensor

from gleg_blocks_diffusion.laplacian import Diffusion
from gleg_blocks_diffusion.params import DiffusionParams
from gleg_core.contracts.basis import Basis
from gleg_core.contracts.block import Binding, Block, Fields, Traits
from gleg_core.contracts.jet import MultiIndex, unit
from gleg_core.contracts.learned import LearnedBlock
from gleg_core.contracts.local_basis import LocalBasis
from gleg_core.contracts.location import Location
from gleg_core.errors import PackError
from gleg_core.weights.guard import RangeGuard
from gleg_core.weights.load import load_frozen

TRAINED_DIM = 2
LARGEST = 45
"""Largest wavenumber |k| of the training states on [−1, 1]²."""
_SCALE = 100.0
"""s: brings the second-order part to the size of the first at wavenumbers about 30 on [−1, 1]²."""
_NEGLIGIBLE = 1e-12
"""Second-order part, relative to the first at the largest certified wavenumber, that is rounding and set to zero."""


def diffusion(params: DiffusionParams, binding: Binding) -> Block:
    """The learned block, or its analytic twin."""
    return Diffusion(params, binding) if params.twin == "analytic" else LearnedDiffusion(params, binding)


class SumOfSquares(torch.nn.Module):
    """Weights L₁ (d, d) and L₂ (q, q), q the number of second derivatives."""

    def __init__(self) -> None:
        super().__init__()
        second = len(_second_order(TRAINED_DIM))
        self.first = torch.nn.Parameter(torch.zeros(TRAINED_DIM, TRAINED_DIM, dtype=torch.float64))
        self.second = torch.nn.Parameter(torch.zeros(second, second, dtype=torch.float64))


def _second_order(dim: int) -> list[MultiIndex]:
    pairs = combinations_with_replacement(range(dim), 2)
    return [tuple(a + b for a, b in zip(unit(dim, i), unit(dim, j), strict=True)) for i, j in pairs]


class LearnedDiffusion(LearnedBlock):
    """L_θ(u) = −δE_θ/δu ≈ Δu."""

    weights = "gleg_blocks_diffusion:diffusion"
    recipe = "gleg_blocks_diffusion:diffusion.recipe.yaml"

    module: SumOfSquares

    def __init__(self, params: DiffusionParams, binding: Binding, trained: bool = True):
        if binding.dim > TRAINED_DIM:
            raise PackError(f"the learned diffusion is trained in up to {TRAINED_DIM} dimensions; write twin: analytic")
        self._field, self._dim = params.of or binding.target, binding.dim
        self.law = Diffusion(params, binding)
        self.module = SumOfSquares()
        self._guard = RangeGuard(load_frozen(self.module, self.weights, "diffusion:diffusion")) if trained else None

    @classmethod
    def untrained(cls, params: DiffusionParams, binding: Binding) -> Self:  # type: ignore[override]
        block = cls(params, binding, trained=False)
        torch.nn.init.normal_(block.module.first, std=0.3)
        torch.nn.init.normal_(block.module.second, std=0.1)
        return block

    @property
    def traits(self) -> Traits:  # type: ignore[override]
        order = 4 if bool(self.module.second.any()) else 2
        return Traits(
            "E", order=order, degree=1, modes=("weak", "pointwise", "ambient"), weak_traces=(0, 1) if order == 4 else ()
        )

    @property
    def acts_on(self) -> str:
        return self._field

    def admit(self, basis: Basis) -> None:
        if self._guard is not None and not isinstance(
            basis, LocalBasis
        ):  # its weak form is one tensor, whatever the waves
            self._guard.wavenumber(basis.bandwidth * float(basis.frame.half_widths.min()) / torch.pi)

    def _matrices(self) -> tuple[Tensor, Tensor]:
        """L₁ and L₂/s, restricted to the coordinates there are: shapes (2, d), (3, q_d)."""
        kept = [i for i, alpha in enumerate(_second_order(TRAINED_DIM)) if not any(alpha[self._dim :])]
        return self.module.first[:, : self._dim], self.module.second[:, kept] / _SCALE

    def response(self, fields: Fields, at: Location) -> Tensor:
        u = fields[self._field]
        return torch.stack([s.to(u.value.dtype) * u.d(alpha) for alpha, s in self._symbol().items()]).sum(dim=0)

    def _density(self, arguments: Mapping[MultiIndex, Tensor]) -> Tensor:
        """½|L₁∇u|² + ½|L₂D²u|²/s² at the points."""
        squares = []
        for order, L in enumerate(self._matrices(), start=1):
            if derivatives := [v for alpha, v in arguments.items() if sum(alpha) == order]:
                forms = torch.einsum("ij,j...->i...", L.to(derivatives[0].dtype), torch.stack(derivatives))
                squares.append((forms**2).sum(dim=0) / 2)
        return reduce(torch.add, squares)

    def weak(self, fields: Fields, at: Location) -> Mapping[MultiIndex, Tensor]:
        u = fields[self._field]
        needed = [unit(self._dim, i) for i in range(self._dim)]
        if self.traits.order == 4:
            needed += _second_order(self._dim)
        gradient = _energy_gradient(self._density, {alpha: u.d(alpha) for alpha in needed}, self.trainable)
        return {alpha: -g for alpha, g in gradient.items()}

    def weak_boundary(self, fields: Fields, at: Location) -> Tensor:
        """∮ v n·S∇u with S = L₁ᵀL₁: its isotropic part through the boundary condition, the rest as it is."""
        assert at.normal is not None
        u = fields[self._field]
        S = (self._matrices()[0].T @ self._matrices()[0]).to(at.x.dtype)
        mean = S.diagonal().mean()
        rest = at.normal @ (S - mean * torch.eye(self._dim, dtype=S.dtype))
        return sum((rest[:, i] * slope for i, slope in enumerate(u.grad)), mean * u.along(at.normal))

    def ambient(self, basis: Basis, field: str) -> Callable[[Tensor], Tensor]:
        """F(a) = −∇_a E = −c(κ) a with c evaluated on the box [−1, 1]^d."""
        if basis.wavevectors is None:
            raise PackError("diffusion: realisation 'ambient' needs a basis of plane waves; use weak or pointwise")
        c = self.energy_symbol(basis.wavevectors, float(basis.frame.half_widths.min()))
        return lambda a: -c.to(a.device) * a

    def energy_symbol(self, wavevectors: Tensor, half_width: float = 1.0) -> Tensor:
        """c(κ) ≥ 0 for wavevectors (m, dim), 1/length²."""
        k = half_width * wavevectors
        first, second = self._matrices()
        monomials = torch.stack([torch.prod(k ** k.new_tensor(alpha), dim=1) for alpha in _second_order(self._dim)])
        return (((first @ k.T) ** 2).sum(dim=0) + ((second @ monomials) ** 2).sum(dim=0)) / half_width**2

    def card_curves(self) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """For pictures: the energy symbol c(κ) against |κ| on [−1, 1]^d, learned and exact, per direction of κ."""
        size = torch.linspace(0, LARGEST * torch.pi, 181, dtype=torch.float64)
        directions = {"along x": (1.0, 0.0), "along x = y": (0.5**0.5, 0.5**0.5), "along y": (0.0, 1.0)}
        curves = {}
        for name, direction in list(directions.items())[: 3 if self._dim == 2 else 1]:
            kappa = size[:, None] * size.new_tensor(direction[: self._dim])
            learned = self.energy_symbol(kappa).detach()
            curves[f"energy symbol c(κ), κ {name}"] = (size.numpy(), learned.numpy(), (size**2).numpy())
        return curves

    def _symbol(self) -> dict[MultiIndex, Tensor]:
        """L_θ = Σ s_α ∂^α: ∇·S∇ − D²:T:D²."""
        result: dict[MultiIndex, Tensor] = {}
        groups = ([unit(self._dim, i) for i in range(self._dim)], _second_order(self._dim))
        for L, alphas, sign in zip(self._matrices(), groups, (1.0, -1.0), strict=True):
            if sign < 0 and not L.requires_grad and not bool(L.any()):
                continue
            matrix = L.T @ L
            for i, alpha in enumerate(alphas):
                for j, beta in enumerate(alphas):
                    total = tuple(a + b for a, b in zip(alpha, beta, strict=True))
                    result[total] = result.get(total, torch.zeros((), dtype=L.dtype)) + sign * matrix[i, j]
        return result

    def symbol(self) -> Mapping[MultiIndex, float]:
        return {alpha: float(s) for alpha, s in self._symbol().items()}

    def prune(self) -> None:
        with torch.no_grad():
            second = self.module.second.norm() / _SCALE * LARGEST * torch.pi
            if float(second) ** 2 < _NEGLIGIBLE * float(self.module.first.norm()) ** 2:
                self.module.second.zero_()


def _energy_gradient(
    density: Callable[[Mapping[MultiIndex, Tensor]], Tensor],
    arguments: Mapping[MultiIndex, Tensor],
    trainable: bool = False,
) -> dict[MultiIndex, Tensor]:
    """{α: ∂e/∂(∂^αu)} of an energy density e(u, ∇u, …) at the points, by automatic differentiation.

    E(u) = ∫ e gives the weak gradient ⟨δE, v⟩ = Σ_α ∫ ∂^αv ∂e/∂(∂^αu), so the E-block −δE has weak form {α: −∂e/∂(∂^αu)}:
    dissipative on any domain and for any quadrature with positive weights. The result carries a graph only where gradients are
    enabled and an argument, or the density's own parameters (``trainable``), require them.
    """
    keep = torch.is_grad_enabled() and (trainable or any(v.requires_grad for v in arguments.values()))
    with torch.enable_grad():
        inputs = {a: v if v.requires_grad else v.detach().requires_grad_(True) for a, v in arguments.items()}
        total = density(inputs).sum()
        gradients = torch.autograd.grad(total, list(inputs.values()), create_graph=keep, materialize_grads=True)
    return dict(zip(inputs, gradients, strict=True))
