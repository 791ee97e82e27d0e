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
        """Σ w_k T_k(s)."""
        return _chebyshev_sum(self.weights.to(s.dtype), s, torch.ones_like(s), s)

    def _slope(self, s: Tensor) -> Tensor:
        """Σ w_k k U_{k−1}(s), the derivative of the sum."""
        w = self.weights.to(s.dtype)
        return _chebyshev_sum(w * torch.arange(len(w), dtype=s.dtype), s, torch.zeros_like(s), torch.ones_like(s))


def _chebyshev_sum(w: Tensor, s: Tensor, before: Tensor, now: Tensor) -> Tensor:
    """Σ w_k X_k by X_{k+1} = 2 s X_k − X_{k−1} from X_0 and X_1."""
    total = w[0] * before
    for k in range(1, len(w)):
        total = total + w[k] * now
        before, now = now, 2 * s * now - before
    return total
