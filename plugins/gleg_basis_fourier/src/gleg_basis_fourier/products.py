"""Integrals of products of Fourier functions, from the transform of the weights alone.

A product of two waves is half the sum of the waves of the difference and of the sum of their wave vectors. With

    w^(m) = Σ_q w_q e^{iπ m·ξ_q},   |m_c| ≤ 2K,

all Σ_q w_q ∂^αφ_i(x_q) ∂^βφ_j(x_q) are therefore entries of one table of (4K+1)^d numbers: no function is evaluated at a point.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from gleg_core.contracts.jet import MultiIndex


def weight_transform(xi: Tensor, weights: Tensor, K: int) -> Tensor:
    """w^(m) for −2K ≤ m_c ≤ 2K, flat, the last component fastest: ((4K+1)^d,). ``xi`` (n, d) are coordinates in [−1, 1]^d."""
    numbers = torch.arange(2 * K + 1, dtype=xi.dtype)[:, None]
    waves = [torch.polar(torch.ones(()).double(), math.pi * numbers * xi[:, c]) for c in range(xi.shape[1])]
    sums = weights.to(waves[0].dtype)[None]
    for half in waves[:-1]:
        sums = (sums[:, None] * torch.cat([half.conj()[1:].flip(0), half])).reshape(-1, len(xi))
    positive = sums @ waves[-1].T  # m_d ≥ 0; w^(−m) is the conjugate of w^(m), as the weights are real
    return torch.cat([positive[:, 1:].flip(0, 1).conj(), positive], dim=1).reshape(-1)


class WaveProducts:
    """(α, β) ↦ Σ_q w_q ∂^αφ_i ∂^βφ_j, (M, M), for 1, √2 cos κ_k·x, √2 sin κ_k·x in the order of the basis.

    ``k`` (m, d) integer vectors, ``kappa`` (m, d) their physical wave vectors, ``table`` from :func:`weight_transform`.
    """

    def __init__(self, k: Tensor, kappa: Tensor, table: Tensor, K: int):
        with_zero = torch.cat([torch.zeros_like(k[:1]), k])
        places = (4 * K + 1) ** torch.arange(k.shape[1] - 1, -1, -1)
        place, middle = with_zero @ places, len(table) // 2
        self._difference = place[:, None] - place + middle
        self._sum = place[:, None] + place + middle
        self._kappa = torch.cat([torch.zeros_like(kappa[:1]), kappa])
        self._parts = table.real.contiguous(), table.imag.contiguous()

    def __call__(self, alpha: MultiIndex, beta: MultiIndex) -> Tensor:
        """∂^α cos θ = κ^α cos(θ + |α|π/2), and likewise the sine; cos a cos b = ½[cos(a − b) + cos(a + b)] and so on."""
        p, q = sum(alpha), sum(beta)
        size = len(self._kappa)
        whole = torch.empty(2 * size - 1, 2 * size - 1, dtype=torch.float64)
        cosines, sines = slice(0, size), slice(size, None)
        of_difference, of_sum = self._entries(self._difference, p - q), self._entries(self._sum, p + q)
        real, imaginary = of_difference(0), of_sum(0)
        torch.add(real, imaginary, out=whole[cosines, cosines])
        torch.sub(real[1:, 1:], imaginary[1:, 1:], out=whole[sines, sines])
        of_difference(1, out=real), of_sum(1, out=imaginary)
        torch.add(imaginary[1:], real[1:], out=whole[sines, cosines])
        torch.sub(imaginary[:, 1:], real[:, 1:], out=whole[cosines, sines])
        return whole.mul_(self._factors(alpha)[:, None]).mul_(self._factors(beta))

    def _factors(self, alpha: MultiIndex) -> Tensor:
        """κ^α, (M,); 1/√2 for the constant, which is not multiplied by √2."""
        factor = torch.prod(self._kappa ** self._kappa.new_tensor(alpha), dim=1)
        return torch.cat([factor[:1] / math.sqrt(2), factor[1:], factor[1:]])

    def _entries(self, places: Tensor, turns: int) -> Callable[..., Tensor]:
        """0 or 1 ↦ the real or imaginary part of i^turns w^ at the ``places``."""
        real, imaginary = self._parts
        turned = ((real, imaginary), (-imaginary, real), (-real, -imaginary), (imaginary, -real))[turns % 4]
        return lambda part, out=None: torch.take(turned[part], places, out=out)
