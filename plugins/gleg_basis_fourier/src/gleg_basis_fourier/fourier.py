"""The real Fourier basis with radial cutoff.

On Q = {centre + R(h ξ) : ξ ∈ [−1, 1]^d} the trial space is

    V_K(Q) = span{1, √2 cos κ·(x − centre), √2 sin κ·(x − centre) : κ = (π/h) R k, 0 < |k| ≤ K},

k running over one representative of each pair ±k. The functions are orthonormal in the mean ⟨u, v⟩ = |Q|⁻¹ ∫_Q u v.
"""

import math
from collections.abc import Callable, Iterable

import numpy as np
import torch
from torch import Tensor

from gleg_basis_fourier.lines import Products, on_lines
from gleg_basis_fourier.params import FourierParams
from gleg_basis_fourier.products import WaveProducts, weight_transform
from gleg_core.contracts.basis import Basis, Site, as_points
from gleg_core.contracts.jet import MultiIndex
from gleg_core.contracts.transform import Transform
from gleg_core.errors import SpecError

_FEW = 16
"""Fields evaluated without a table; for many of them one table serves all."""


def half_lattice(K: int, dim: int) -> np.ndarray:
    """Integer vectors with 0 < |k| ≤ K, one of each pair ±k (the first nonzero entry is positive), by rising |k|."""
    axes = np.meshgrid(*[np.arange(-K, K + 1)] * dim, indexing="ij")
    k = np.stack([a.ravel() for a in axes], axis=1)
    k = k[len(k) // 2 + 1 :]  # in lexicographic order these follow 0
    squared = (k**2).sum(axis=1)
    return k[np.argsort(squared, kind="stable")][: np.count_nonzero(squared <= K * K)]


class FourierBasis(Basis):
    """Order of the functions: 1, then all cosines, then all sines, each by rising |k|."""

    periodic = True
    isotropic = True

    def __init__(self, params: FourierParams, site: Site):
        if params.K == "auto":
            raise SpecError("K: auto is resolved by gleg run and gleg.solve; write a number here")
        self.K = params.K
        self.frame = frame = site.frame
        self.k = half_lattice(self.K, frame.dim)
        kappa = as_points((math.pi * self.k / frame.half_widths) @ frame.rotation.T)
        self._kappa = kappa
        self.size = 1 + 2 * len(kappa)
        self._number = torch.from_numpy(self.k) + self.K  # of e^{iπ k_c ξ_c} among k_c = −K … K
        self._place = self._number @ (2 * self.K + 1) ** torch.arange(frame.dim - 1, -1, -1)
        self.bandwidth = math.pi * self.K / float(frame.half_widths.min())
        self.wavevectors = torch.cat([torch.zeros(1, frame.dim, dtype=kappa.dtype), kappa, kappa])

    def tabulate(self, points: Tensor, derivatives: Iterable[MultiIndex]) -> dict[MultiIndex, Tensor]:
        kappa = self._kappa.to(points.device)
        waves = self._waves(points)
        product = waves[0][self._number[:, 0]]
        for c in range(1, self.dim):
            product = product * waves[c][self._number[:, c]]
        cosine, sine = math.sqrt(2) * product.real, math.sqrt(2) * product.imag
        return {alpha: self._derivative(alpha, kappa, cosine, sine) for alpha in derivatives}

    def evaluate(self, coefficients: Tensor, points: Tensor, derivative: MultiIndex | None = None) -> Tensor:
        """Re Σ_k c_k e^{iκ·x}, one coordinate after the other: no table of M functions for a few fields."""
        rows = coefficients.reshape(math.prod(coefficients.shape[:-1]), self.size)
        if not 0 < len(rows) <= _FEW or not len(points):
            return super().evaluate(coefficients, points, derivative)
        alpha, m = derivative or (0,) * self.dim, len(self.k)
        factor = torch.prod(self._kappa ** self._kappa.new_tensor(alpha), dim=1) * (math.sqrt(2) * 1j ** sum(alpha))
        c = rows.new_zeros(len(rows), (2 * self.K + 1) ** self.dim, dtype=torch.complex128)
        c = c.index_copy(1, self._place, torch.complex(rows[:, 1 : 1 + m], -rows[:, 1 + m :]) * factor)
        *others, last = self._waves(points)
        sums = (c.reshape(-1, 2 * self.K + 1) @ last).reshape(len(rows), -1, len(points))
        for waves in reversed(others):
            sums = (sums.reshape(len(rows), -1, 2 * self.K + 1, len(points)) * waves).sum(dim=2)
        constant = rows[:, :1] if not sum(alpha) else torch.zeros_like(rows[:, :1])
        return (sums[:, 0].real + constant).reshape(*coefficients.shape[:-1], len(points))

    def _waves(self, points: Tensor) -> list[Tensor]:
        """e^{iπ k ξ_c} for k = −K … K at the points, (2K + 1, n), for every coordinate."""
        centre, rotation, widths = (
            as_points(a, points.device) for a in (self.frame.centre, self.frame.rotation, self.frame.half_widths)
        )
        xi = (points - centre) @ rotation / widths
        numbers = math.pi * torch.arange(1, self.K + 1, dtype=xi.dtype, device=xi.device)[:, None]
        found = []
        for c in range(self.dim):
            phase = numbers * xi[:, c]
            half = torch.complex(phase.cos(), phase.sin())
            found.append(torch.cat([half.conj().flip(0), torch.ones_like(half[:1]), half]))
        return found

    def transform(self, points: Tensor) -> Transform | None:
        """cos κ·x = cos κ₁x₁ cos κ₂x₂ − sin κ₁x₁ sin κ₂x₂ and sin κ·x = sin κ₁x₁ cos κ₂x₂ + cos κ₁x₁ sin κ₂x₂: two products each.

        The functions of one coordinate are 1 and cos(π k x/h), sin(π k x/h), k = 1 … K, at the places 0, 2k − 1 and 2k.
        """
        if self.dim != 2 or not np.allclose(self.frame.rotation, np.eye(2)):
            return None
        k, m = torch.from_numpy(self.k), len(self.k)
        size = k.abs()
        cosine, sine = (2 * size - 1).clamp(min=0), 2 * size
        sign, present = k.sign(), (k != 0)
        j, one = torch.arange(m), torch.ones(1, dtype=torch.long)
        entries = [  # function, first, second, sign, where the product is not zero
            (one - 1, one - 1, one - 1, one.double() / math.sqrt(2), one > 0),
            (1 + j, cosine[:, 0], cosine[:, 1], torch.ones(m), j >= 0),
            (1 + j, sine[:, 0], sine[:, 1], -sign[:, 0] * sign[:, 1], present.all(dim=1)),
            (1 + m + j, sine[:, 0], cosine[:, 1], sign[:, 0], present[:, 0]),
            (1 + m + j, cosine[:, 0], sine[:, 1], sign[:, 1], present[:, 1]),
        ]
        function, first, second, signs = (torch.cat([e[i][e[4]].double() for e in entries]) for i in range(4))
        products = Products(
            function.long(), first.long(), second.long(), math.sqrt(2) * signs,
            sizes=(self.size, 2 * self.K + 1, 2 * self.K + 1), tables=self._one_coordinate,
        )  # fmt: skip
        return on_lines(products, points - as_points(self.frame.centre))

    def products(self, points: Tensor, weights: Tensor) -> WaveProducts:
        xi = as_points(self.frame.to_reference(points.numpy()))
        return WaveProducts(torch.from_numpy(self.k), self._kappa, weight_transform(xi, weights, self.K), self.K)

    def _one_coordinate(self, axis: int, x: Tensor, order: int) -> Tensor:
        """∂^order of 1, cos κ_1 x, sin κ_1 x, …, cos κ_K x, sin κ_K x, κ_k = π k/h: shape (2K+1, n)."""
        kappa = (math.pi / self.frame.half_widths[axis]) * torch.arange(1, self.K + 1, dtype=x.dtype)[:, None]
        phase = kappa * x + order * (math.pi / 2)
        waves = torch.stack([phase.cos(), phase.sin()], dim=1).reshape(2 * self.K, len(x))
        constant = torch.ones_like(x) if order == 0 else torch.zeros_like(x)
        return torch.cat([constant[None], kappa.repeat_interleave(2, dim=0) ** order * waves])

    def _derivative(self, alpha: MultiIndex, kappa: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
        """∂^α cos = κ^α · (cos, −sin, −cos, sin)[|α| mod 4], and the sine a quarter turn behind it."""
        order = sum(alpha)
        constant = torch.ones_like(cosine[:1]) if order == 0 else torch.zeros_like(cosine[:1])
        of_cosine = (cosine, -sine, -cosine, sine)[order % 4]
        of_sine = (sine, cosine, -sine, -cosine)[order % 4]
        if order:
            factor = torch.prod(kappa ** kappa.new_tensor(alpha), dim=1)[:, None]
            of_cosine, of_sine = factor * of_cosine, factor * of_sine
        return torch.cat([constant, of_cosine, of_sine])

    def project(self, function: Callable[[Tensor], Tensor]) -> Tensor:
        """⟨f, φ_j⟩ by the trapezoidal rule on a grid of n = 4K+8 points per axis, exact for f of wavenumber up to 3K.

        The grid starts at ξ = −1, so that the mean of f e^{−iπ k·ξ} is (−1)^{Σk} times the discrete transform of f at k;
        its real part belongs to the cosine, its negative imaginary part to the sine.
        """
        n = 4 * self.K + 8
        axis = -1 + 2 * np.arange(n) / n
        grid = np.stack([a.ravel() for a in np.meshgrid(*[axis] * self.dim, indexing="ij")], axis=1)
        values = function(as_points(self.frame.to_physical(grid)))
        if values.numel() == 0:  # an empty batch, which not every FFT library accepts
            return values.new_zeros(*values.shape[:-1], self.size)
        values = values.reshape(*values.shape[:-1], *[n] * self.dim)
        transform = torch.fft.fftn(values, dim=tuple(range(-self.dim, 0)), norm="forward")
        mean = transform[(..., *[0] * self.dim)].real[..., None]
        waves = transform[(..., *torch.from_numpy(self.k % n).T)]
        waves = math.sqrt(2) * torch.from_numpy((-1.0) ** self.k.sum(axis=1)) * waves
        return torch.cat([mean, waves.real, -waves.imag], dim=-1)
