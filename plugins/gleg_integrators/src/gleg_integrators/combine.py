"""Weighted sums of stage values."""

from collections.abc import Iterable, Sequence
from fractions import Fraction

from torch import Tensor

Weights = tuple[tuple[int, float], ...]
"""The nonzero entries (j, w_j) of a row of weights."""


def nonzero(row: Iterable[float | Fraction], scale: float = 1.0) -> Weights:
    """The nonzero entries of a row, times ``scale``."""
    return tuple((j, scale * float(w)) for j, w in enumerate(row) if w)


def add(base: Tensor, weights: Weights, values: Sequence[Tensor]) -> Tensor:
    """base + Σ_j w_j values_j."""
    for j, w in weights:
        base = base.add(values[j], alpha=w)
    return base


def weighted(weights: Weights, values: Sequence[Tensor]) -> Tensor:
    """Σ_j w_j values_j of a row that is not empty."""
    (j, w), *rest = weights
    return add(w * values[j], tuple(rest), values)
