"""Scalar functions of one variable with trainable weights."""

from __future__ import annotations

import torch
from torch import Tensor


class ChebyshevSeries(torch.nn.Module):
    """f(u) = Σ_{k=0}^{degree} w_k T_k(s), s = (2u − low − high)/(high − low): spectrally accurate for smooth f on [low, high].

    Outside the interval the series is continued by its tangent at the end, so that a small excursion is not amplified.
    """

    def __init__(self, degree: int, low: float, high: float):
        super().__init__()
        self.weights = torch.nn.Parameter(torch.zeros(degree + 1, dtype=torch.float64))
        self.low, self.high = low, high

    def forward(self, u: Tensor) -> Tensor:
        """f at every value of u (any shape)."""
        s = (2 * u - self.low - self.high) / (self.high - self.low)
        inside = s.clamp(-1.0, 1.0)
        value, slope = self._sums(inside)
        return value + slope * (s - inside)

    def _sums(self, s: Tensor) -> tuple[Tensor, Tensor]:
        """f and df/ds by the recurrences T_{k+1} = 2 s T_k − T_{k−1} and T_k′ = k U_{k−1}."""
        w = self.weights.to(s.dtype)
        T_before, T = torch.ones_like(s), s
        U_before, U = torch.zeros_like(s), torch.ones_like(s)  # U_{k−1} for k = 0, 1
        value, slope = w[0] * T_before, torch.zeros_like(s)
        for k in range(1, len(w)):
            value = value + w[k] * T
            slope = slope + w[k] * k * U
            T_before, T = T, 2 * s * T - T_before
            U_before, U = U, 2 * s * U - U_before
        return value, slope
