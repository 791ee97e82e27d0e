"""Nonlinear diffusion ∇·(d(u)∇u), its diffusivity given as a formula or learned from data alone.

Learned: d_θ(u) = exp(Chebyshev series), positive for any weights, so ½‖u‖² cannot grow:  ∫ u L(u) = −∫ d(u)|∇u|² (+ boundary).
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from gleg_blocks_diffusion.params import NonlinearDiffusionParams
from gleg_core.contracts.block import Binding, Block, Fields, Traits
from gleg_core.contracts.jet import Jet, MultiIndex, unit
from gleg_core.contracts.learned import derivative
from gleg_core.contracts.location import Location
from gleg_core.expressions import Expression
from gleg_core.weights.scalar_law import ScalarLaw

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


class LearnedDiffusivity(ScalarLaw):
    """∇·(d_θ(u)∇u) with d_θ trained on data; there is no formula to refer to."""

    key = "diffusion:nonlinear-diffusion"
    traits = _TRAITS

    def diffusivity(self, u: Tensor) -> Tensor:
        """d_θ(u) > 0."""
        return torch.exp(self.module(u))

    def response(self, fields: Fields, at: Location) -> Tensor:
        u = self.state(fields)
        slope = derivative(self.diffusivity, u.value, trainable=self.trainable)
        return _strong(u, self.diffusivity(u.value), slope)

    def weak(self, fields: Fields, at: Location) -> Mapping[MultiIndex, Tensor]:
        u = self.state(fields)
        return _weak(u, self.diffusivity(u.value))

    def weak_boundary(self, fields: Fields, at: Location) -> Tensor:
        assert at.normal is not None
        u = fields[self._field]
        return self.diffusivity(u.value) * u.along(at.normal)
