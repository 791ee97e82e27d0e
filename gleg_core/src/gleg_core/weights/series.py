"""Scalar functions of one variable with trainable weights."""

import torch
from torch import Tensor


class ChebyshevSeries(torch.nn.Module):
    """f(u) = Σ_{k=0}^{degree} w_k T_k(s), s = (2u − low − high)/(high − low): spectrally accurate for smooth f on [low, high].

    The interval is kept with the weights. Outside it the series is continued by its tangents at the ends, so that a
    small excursion is not amplified.
    """

    def __init__(self, degree: int, low: float = -1.0, high: float = 1.0):
        super().__init__()
        self.weights = torch.nn.Parameter(torch.zeros(degree + 1, dtype=torch.float64))
        self.register_buffer("interval", torch.tensor([low, high], dtype=torch.float64))

    interval: Tensor

    def forward(self, u: Tensor) -> Tensor:
        """f at every value of u (any shape)."""
        low, high = self.interval.to(u.dtype)
        s = (2 * u - low - high) / (high - low)
        if not s.numel() or float(s.detach().abs().max()) <= 1.0:
            return self._value(s)
        inside = s.clamp(-1.0, 1.0)
        return self._value(inside) + self._slope(inside) * (s - inside)

    def _value(self, s: Tensor) -> Tensor:
        """Σ w_k T_k(s) by T_{k+1} = 2 s T_k − T_{k−1}."""
        w = self.weights.to(s.dtype)
        before, T = torch.ones_like(s), s
        total = w[0] * before
        for k in range(1, len(w)):
            total = total + w[k] * T
            before, T = T, 2 * s * T - before
        return total

    def _slope(self, s: Tensor) -> Tensor:
        """Σ w_k k U_{k−1}(s), the derivative of the sum."""
        w = self.weights.to(s.dtype)
        before, U = torch.zeros_like(s), torch.ones_like(s)
        total = torch.zeros_like(s)
        for k in range(1, len(w)):
            total = total + w[k] * k * U
            before, U = U, 2 * s * U - before
        return total
