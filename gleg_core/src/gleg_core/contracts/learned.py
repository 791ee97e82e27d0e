"""Contract LearnedBlock (part of Block): a mechanism with parameters θ, trained once, frozen, shipped with its card.

    L_θ(u) ≈ L(u)       on the states and amplitudes its card certifies

A learned block is an ordinary block whose ``reference`` is the law it was trained on (if a formula is known) and whose
realisations use θ. Training needs three things only: the parameters (``module``), the parametrised response ``response``
on jets, and a target: the reference operator, or data. The block's entry names its class in ``capabilities["learned"]``
("module:Class") and its weights in ``capabilities["weights"]`` ("package:stem", as the class does; None if they come with a
problem file), so that listings need not import it. Structure must come from the parametrisation, not from training: an energy
that is a sum of squares, a density with h(0) = h′(0) = 0.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Self

import numpy as np
import torch
from pydantic import BaseModel
from torch import Tensor

from gleg_core.contracts.block import Binding, Block, Fields
from gleg_core.contracts.location import Location
from gleg_core.errors import PackError


class LearnedBlock(Block):
    """A block with parameters."""

    module: torch.nn.Module
    """Its parameters θ; frozen (``requires_grad`` False) except while it is trained."""
    weights: str = ""
    """``"package:stem"``: ``stem.safetensors`` and ``stem.card.json`` in that package, written by training."""
    recipe: str
    """``"package:file.yaml"``: the default training recipe in that package."""
    law: Block | None = None
    """Its exact twin; a block that was learned from data has none, and says so where it is asked for ``reference``."""

    def reference(self, fields: Fields, at: Location) -> Tensor:
        if self.law is None:
            raise PackError(
                f"{self.weights or self} was learned from data: no formula is known, so it has no exact response"
            )
        return self.law.reference(fields, at)

    @classmethod
    @abstractmethod
    def untrained(cls, params: BaseModel, binding: Binding) -> Self:
        """The block with initial parameters that require gradients, before any weights exist."""

    @abstractmethod
    def response(self, fields: Fields, at: Location) -> Tensor:
        """L_θ(u), shape (..., n), differentiable in θ: what training compares with the target."""

    @property
    def trainable(self) -> bool:
        """True while the parameters require gradients."""
        return any(p.requires_grad for p in self.module.parameters())

    def pointwise(self, fields: Fields, at: Location) -> Tensor:
        return self.response(fields, at)

    def prune(self) -> None:
        """Called after the fit: set to zero what is zero up to rounding, so that structure (order, symmetry) is exact."""

    def card_curves(self) -> Mapping[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """{title: (x, learned, exact)}, arrays of equal length for the picture of the card: what was learned as a function of
        one variable (a symbol of |k|, a density of u) against the exact one. Empty if there is nothing
        of the kind, or nothing exact to compare with."""
        return {}


def derivative(function: Callable[[Tensor], Tensor], u: Tensor, order: int = 1, trainable: bool = False) -> Tensor:
    """The derivative of a scalar function at every value of u, by automatic differentiation. It carries a graph only
    where gradients are enabled, and u or the function's own parameters (``trainable``) require them."""
    keep = torch.is_grad_enabled() and (trainable or u.requires_grad)
    with torch.enable_grad():
        v = u if u.requires_grad else u.detach().requires_grad_(True)
        value = function(v)
        for i in range(order):
            (value,) = torch.autograd.grad(value.sum(), v, create_graph=keep or i + 1 < order)
    return value
