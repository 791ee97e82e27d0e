"""A reaction r(u), given as a formula of u or learned from data alone.

Learned: r_θ(u) is a Chebyshev series on the values of u the data cover, continued by its tangents outside.
"""

from __future__ import annotations

from typing import Self

import torch
from torch import Tensor

from gleg_blocks_polynomial.params import ReactionParams
from gleg_core.contracts.block import Binding, Block, Fields, Traits
from gleg_core.contracts.learned import LearnedBlock
from gleg_core.contracts.location import Location
from gleg_core.errors import PackError, SpecError
from gleg_core.learning.card import read_card
from gleg_core.learning.files import card_path, locate
from gleg_core.learning.functions import ChebyshevSeries
from gleg_core.learning.guard import RangeGuard
from gleg_core.learning.weights import load_frozen

KEY = "polynomial:reaction"
_TRAITS = Traits("R", order=0, degree=None, modes=("pointwise",))


def reaction(params: ReactionParams, binding: Binding) -> Block:
    """With a formula or with weights, whichever the problem file gives."""
    if params.rate is not None:
        return FormulaReaction(params, binding)
    return LearnedReaction(params, binding)


class FormulaReaction(Block):
    """L(u) = r(u) with r given as a formula."""

    traits = _TRAITS

    def __init__(self, params: ReactionParams, binding: Binding):
        self._field, self._rate = params.of or binding.target, params.rate

    def reference(self, fields: Fields, at: Location) -> Tensor:
        u = fields[self._field].value
        assert self._rate is not None
        return torch.as_tensor(self._rate(u=u), dtype=u.dtype).expand_as(u)


class LearnedReaction(LearnedBlock):
    """L_θ(u) = r_θ(u), trained on data; there is no formula to refer to."""

    recipe = ""
    traits = _TRAITS

    def __init__(self, params: ReactionParams, binding: Binding, trained: bool = True):
        self._field = params.of or binding.target
        self._guard: RangeGuard | None = None
        if trained:
            self.weights = _given(params)
            self.module, self._guard = _frozen(self.weights)
        else:
            self.module = ChebyshevSeries(params.degree, *params.range)

    @classmethod
    def untrained(cls, params: ReactionParams, binding: Binding) -> Self:  # type: ignore[override]
        return cls(params, binding, trained=False)

    def rate(self, u: Tensor) -> Tensor:
        """r_θ(u)."""
        return self.module(u)

    def reference(self, fields: Fields, at: Location) -> Tensor:
        raise PackError(f"{KEY} with weights was learned from data: no formula is known, so it has no exact response")

    def response(self, fields: Fields, at: Location) -> Tensor:
        u = fields[self._field].value
        if self._guard is not None:
            self._guard.amplitude(u)
        return self.rate(u)


def _given(params: ReactionParams) -> str:
    if params.weights is None:
        raise SpecError(f"{KEY} needs 'rate' (a formula of u) or 'weights' (files made by gleg train)")
    return params.weights


def _frozen(weights: str) -> tuple[ChebyshevSeries, RangeGuard]:
    """The series behind a weights file, of the degree and range it was trained with."""
    owner = f"{KEY} with weights {weights}"
    card = read_card(card_path(locate(weights)), owner)
    if card.block != KEY:
        raise SpecError(f"{owner}: these are weights of '{card.block}'")
    made = ReactionParams.model_validate(card.recipe["params"])
    series = ChebyshevSeries(made.degree, *made.range)
    return series, RangeGuard(load_frozen(series, weights, owner))
