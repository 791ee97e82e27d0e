"""Nonlinear diffusion ∇·(d(u)∇u), its diffusivity given as a formula or learned from data alone.

Learned: d_θ(u) = exp(Chebyshev series), positive for any weights, so ½‖u‖² cannot grow:  ∫ u L(u) = −∫ d(u)|∇u|² (+ boundary).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import torch
from torch import Tensor

from gleg_blocks_diffusion.params import NonlinearDiffusionParams
from gleg_core.contracts.block import Binding, Block, Fields, Traits
from gleg_core.contracts.jet import Jet, MultiIndex, unit
from gleg_core.contracts.learned import LearnedBlock, derivative
from gleg_core.contracts.location import Location
from gleg_core.errors import PackError
from gleg_core.learning.card import read_card
from gleg_core.learning.functions import ChebyshevSeries
from gleg_core.learning.guard import RangeGuard
from gleg_core.learning.weights import card_path, load_frozen, locate

_TRAITS = Traits("E", order=2, degree=None, modes=("weak", "pointwise"))


def nonlinear_diffusion(params: NonlinearDiffusionParams, binding: Binding) -> Block:
    """With a formula or with weights, whichever the problem file gives."""
    if params.diffusivity is not None:
        return FormulaDiffusion(params, binding)
    if params.weights is None:
        raise PackError(
            "nonlinear-diffusion needs 'diffusivity' (a formula of u) or 'weights' (a file made by gleg train)"
        )
    return LearnedDiffusivity(params, binding)


def _weak(u: Jet, d: Tensor) -> dict[MultiIndex, Tensor]:
    return {unit(u.dim, i): -d * g for i, g in enumerate(u.grad)}


def _strong(u: Jet, d: Tensor, slope: Tensor) -> Tensor:
    """∇·(d(u)∇u) = d(u)Δu + d′(u)|∇u|²."""
    squares = torch.stack([g**2 for g in u.grad]).sum(dim=0)
    return d * u.laplacian + slope * squares


class FormulaDiffusion(Block):
    """∇·(d(u)∇u) with d given as a formula."""

    traits = _TRAITS

    def __init__(self, params: NonlinearDiffusionParams, binding: Binding):
        assert params.diffusivity is not None
        self._field = params.of or binding.target
        self._d, self._slope = params.diffusivity, params.diffusivity.d("u")

    def _values(self, u: Jet) -> tuple[Tensor, Tensor]:
        return tuple(torch.as_tensor(f(u=u.value), dtype=u.value.dtype) for f in (self._d, self._slope))  # type: ignore[return-value]

    def reference(self, fields: Fields, at: Location) -> Tensor:
        u = fields[self._field]
        return _strong(u, *self._values(u))

    def weak(self, fields: Fields, at: Location) -> Mapping[MultiIndex, Tensor]:
        u = fields[self._field]
        return _weak(u, self._values(u)[0])

    def weak_boundary(self, fields: Fields, at: Location) -> Tensor:
        assert at.normal is not None
        u = fields[self._field]
        return self._values(u)[0] * u.along(at.normal)


class LearnedDiffusivity(LearnedBlock):
    """∇·(d_θ(u)∇u) with d_θ trained on data; there is no formula to refer to."""

    recipe = ""
    traits = _TRAITS

    def __init__(self, params: NonlinearDiffusionParams, binding: Binding, trained: bool = True):
        self._field = params.of or binding.target
        self._guard = None
        if trained:
            self.weights = str(params.weights)
            owner = f"nonlinear-diffusion with weights {self.weights}"
            made_with = read_card(card_path(locate(self.weights)), owner).recipe["params"]
            params = params.model_copy(update=made_with)
        self.module = ChebyshevSeries(params.degree, *params.range)
        if trained:
            self._guard = RangeGuard(load_frozen(self.module, self.weights, owner))

    @classmethod
    def untrained(cls, params: NonlinearDiffusionParams, binding: Binding) -> Self:  # type: ignore[override]
        return cls(params, binding, trained=False)

    def diffusivity(self, u: Tensor) -> Tensor:
        """d_θ(u) > 0."""
        return torch.exp(self.module(u))

    def reference(self, fields: Fields, at: Location) -> Tensor:
        raise PackError(
            "nonlinear-diffusion with weights was learned from data: no formula is known, so it has no manufactured forcing"
        )

    def response(self, fields: Fields, at: Location) -> Tensor:
        u = fields[self._field]
        slope = derivative(self.diffusivity, u.value, trainable=self.trainable)
        return _strong(u, self.diffusivity(u.value), slope)

    def weak(self, fields: Fields, at: Location) -> Mapping[MultiIndex, Tensor]:
        u = fields[self._field]
        if self._guard is not None:
            self._guard.amplitude(u.value)
        return _weak(u, self.diffusivity(u.value))

    def weak_boundary(self, fields: Fields, at: Location) -> Tensor:
        assert at.normal is not None
        u = fields[self._field]
        return self.diffusivity(u.value) * u.along(at.normal)
