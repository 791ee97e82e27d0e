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
from gleg_core.errors import PackError, SpecError
from gleg_core.expressions import Expression
from gleg_core.learning.card import read_card
from gleg_core.learning.files import card_path, locate
from gleg_core.learning.functions import ChebyshevSeries
from gleg_core.learning.guard import RangeGuard
from gleg_core.learning.weights import load_frozen

KEY = "diffusion:nonlinear-diffusion"
_TRAITS = Traits("E", order=2, degree=None, modes=("weak", "pointwise"))


def nonlinear_diffusion(params: NonlinearDiffusionParams, binding: Binding) -> Block:
    """With a formula or with weights, whichever the problem file gives."""
    if params.diffusivity is not None:
        return FormulaDiffusion(params, binding)
    return LearnedDiffusivity(params, binding)


def _value(f: Expression, u: Jet) -> Tensor:
    return torch.as_tensor(f(u=u.value), dtype=u.value.dtype)


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

    def reference(self, fields: Fields, at: Location) -> Tensor:
        u = fields[self._field]
        return _strong(u, _value(self._d, u), _value(self._slope, u))

    def weak(self, fields: Fields, at: Location) -> Mapping[MultiIndex, Tensor]:
        u = fields[self._field]
        return _weak(u, _value(self._d, u))

    def weak_boundary(self, fields: Fields, at: Location) -> Tensor:
        assert at.normal is not None
        u = fields[self._field]
        return _value(self._d, u) * u.along(at.normal)


class LearnedDiffusivity(LearnedBlock):
    """∇·(d_θ(u)∇u) with d_θ trained on data; there is no formula to refer to."""

    recipe = ""
    traits = _TRAITS

    def __init__(self, params: NonlinearDiffusionParams, binding: Binding, trained: bool = True):
        self._field = params.of or binding.target
        self._guard: RangeGuard | None = None
        if trained:
            self.weights = _given(params)
            self.module, self._guard = _frozen(self.weights)
        else:
            self.module = ChebyshevSeries(params.degree, *params.range)

    @classmethod
    def untrained(cls, params: NonlinearDiffusionParams, binding: Binding) -> Self:  # type: ignore[override]
        return cls(params, binding, trained=False)

    def diffusivity(self, u: Tensor) -> Tensor:
        """d_θ(u) > 0."""
        return torch.exp(self.module(u))

    def _state(self, fields: Fields) -> Jet:
        u = fields[self._field]
        if self._guard is not None:
            self._guard.amplitude(u.value)
        return u

    def reference(self, fields: Fields, at: Location) -> Tensor:
        raise PackError(f"{KEY} with weights was learned from data: no formula is known, so it has no exact response")

    def response(self, fields: Fields, at: Location) -> Tensor:
        u = self._state(fields)
        slope = derivative(self.diffusivity, u.value, trainable=self.trainable)
        return _strong(u, self.diffusivity(u.value), slope)

    def weak(self, fields: Fields, at: Location) -> Mapping[MultiIndex, Tensor]:
        u = self._state(fields)
        return _weak(u, self.diffusivity(u.value))

    def weak_boundary(self, fields: Fields, at: Location) -> Tensor:
        assert at.normal is not None
        u = fields[self._field]
        return self.diffusivity(u.value) * u.along(at.normal)


def _given(params: NonlinearDiffusionParams) -> str:
    if params.weights is None:
        raise SpecError(f"{KEY} needs 'diffusivity' (a formula of u) or 'weights' (files made by gleg train)")
    return params.weights


def _frozen(weights: str) -> tuple[ChebyshevSeries, RangeGuard]:
    """The series behind a weights file, of the degree and range it was trained with."""
    owner = f"{KEY} with weights {weights}"
    card = read_card(card_path(locate(weights)), owner)
    if card.block != KEY:
        raise SpecError(f"{owner}: these are weights of '{card.block}'")
    made = NonlinearDiffusionParams.model_validate(card.recipe["params"])
    series = ChebyshevSeries(made.degree, *made.range)
    return series, RangeGuard(load_frozen(series, weights, owner))
