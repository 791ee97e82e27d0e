"""A reaction r(u), given as a formula of u or learned from data alone.

Conserved: minus its mean over Ω, so that ∫u does not change.
Learned: r_θ(u) is a Chebyshev series on the values of u the data cover, continued by its tangents outside.
"""

import torch
from torch import Tensor

from gleg_blocks_polynomial.params import ConservedReactionParams, ReactionParams
from gleg_core.contracts.block import Binding, Block, Fields, Traits
from gleg_core.contracts.location import Location
from gleg_core.errors import PackError
from gleg_core.weights.scalar_law import ScalarLaw

_TRAITS = Traits("R", order=0, degree=None, modes=("pointwise",))


def reaction(params: ReactionParams, binding: Binding) -> Block:
    """With a formula or with weights, whichever the problem file gives."""
    if params.rate is not None:
        return FormulaReaction(params, binding)
    return LearnedReaction(params, binding)


class FormulaReaction(Block):
    """L(u) = r(u) with r given as a formula."""

    traits = _TRAITS

    def __init__(self, params: ReactionParams | ConservedReactionParams, binding: Binding):
        self._field, self._rate = params.of or binding.target, params.rate

    def reference(self, fields: Fields, at: Location) -> Tensor:
        u = fields[self._field].value
        assert self._rate is not None
        return torch.as_tensor(self._rate(u=u), dtype=u.dtype).expand_as(u)


class ConservedReaction(FormulaReaction):
    """L(u) = r(u) − |Ω|⁻¹ ∫_Ω r(u) dx, the part of r(u) without a mean."""

    traits = Traits("R", order=0, degree=None, modes=("pointwise",), invariants=("mass",))

    def reference(self, fields: Fields, at: Location) -> Tensor:
        if at.weights is None:
            raise PackError(
                "conserved-reaction is non-local: it needs values at all quadrature nodes of the domain with their weights "
                "(Location.weights), and these points have none"
            )
        r = super().reference(fields, at)
        return r - (r * at.weights).sum(-1, keepdim=True) / at.weights.sum()


class LearnedReaction(ScalarLaw):
    """L_θ(u) = r_θ(u), trained on data; there is no formula to refer to."""

    key = "polynomial:reaction"
    traits = _TRAITS

    def rate(self, u: Tensor) -> Tensor:
        """r_θ(u)."""
        return self.module(u)

    def response(self, fields: Fields, at: Location) -> Tensor:
        return self.rate(self.state(fields).value)
