"""A better parameter for a smooth closed curve.

Equal steps of the given parameter s can be crowded on dull parts of a curve and sparse at its bends. With a smooth
periodic monitor m(s) > 0 of mean one,

    t(s) = ∫_0^s m(σ) dσ / period,

equal steps of t put nodes where m is large. The monitor is the speed |γ'|, smoothed: the speed itself has branch points near
the real axis wherever the curve bends sharply, and they would spoil the exponential convergence of trapezoid sums.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gleg_domains.roots import Table, inverted

Array = np.ndarray
_BLOCK = 8


@dataclass(frozen=True, eq=False)
class Reparametrization:
    """t(s) from the Fourier series of the monitor, m(s) = 1 + 2 Re Σ_k m_k e^{ikφ}, φ = 2π(s − start)/period."""

    start: float
    period: float
    modes: Array
    """m_k, k = 1 … K."""

    @cached_property
    def _sums(self) -> Array:
        """Coefficients of t and of m in blocks of modes, (2, blocks, _BLOCK)."""
        k = np.arange(1, len(self.modes) + 1)
        sums = np.stack([self.modes / (2j * np.pi * k), self.modes])
        return np.pad(sums, ((0, 0), (0, -len(k) % _BLOCK))).reshape(2, -1, _BLOCK)

    def forward(self, s: Array) -> tuple[Array, Array]:
        """t(s), one unit per period, and the monitor m(s) = period · dt/ds, each (n,).

        Σ_k c_k z^k is summed as Σ_j z^{jB} Σ_i c_{jB+i} z^i: B + K/B powers of z instead of K.
        """
        sums = self._sums
        phase = (2j * np.pi / self.period) * (s - self.start)
        within = np.exp(np.outer(phase, np.arange(1, _BLOCK + 1)))
        between = np.exp(np.outer(phase, _BLOCK * np.arange(sums.shape[1])))
        # einsum, not BLAS: these products are too small for threads.
        change, density = (2 * np.einsum("nj,nj->n", between, np.einsum("ni,ji->nj", within, c)).real for c in sums)
        return (s - self.start) / self.period + change - 2 * float(sums[0].sum().real), 1 + density

    @cached_property
    def _table(self) -> Table:
        """t at equal steps of s, by a fast Fourier transform."""
        k, n = np.arange(1, len(self.modes) + 1), 16 * len(self.modes) + 64
        waves = np.zeros((2, n // 2 + 1), dtype=complex)
        waves[:, 1 : len(k) + 1] = self.modes / (2j * np.pi * k), self.modes
        change, density = np.fft.irfft(waves, n) * n
        u = np.arange(n + 1) / n
        monitor = 1 + np.append(density, density[0])
        return Table(self.start + self.period * u, u + np.append(change, change[0]) - change[0], monitor / self.period)

    def invert(self, t: Array) -> tuple[Array, Array]:
        """s(t) and ds/dt, each (n,), for t in [0, 1]."""
        if not len(self.modes):
            return self.start + self.period * t, np.full(len(t), self.period)

        def evaluate(s: Array) -> tuple[Array, Array]:
            value, monitor = self.forward(s)
            return value, monitor / self.period

        s = inverted(evaluate, [(self._table, t)])
        return s, self.period / self.forward(s)[1]


def identity(start: float, period: float) -> Reparametrization:
    return Reparametrization(start, period, np.zeros(0, dtype=complex))


def density_modes(density: Callable[[Array], Array], start: float, period: float) -> Array:
    """Fourier coefficients c_k, k = 1, 2, …, of a periodic density divided by its mean."""
    n = 2048
    values = density(start + period * np.arange(n) / n)
    return np.fft.rfft(values / values.mean())[1 : n // 2] / n


def smoothed(modes: Array, start: float, period: float, width: float) -> Reparametrization:
    """The monitor G_width ∗ density / mean, from the modes of the density; ``width`` is the Gaussian's, as a fraction of the period."""
    k = np.arange(1, len(modes) + 1)
    damped = modes * np.exp(-0.5 * (2 * np.pi * k * width) ** 2)
    large = np.nonzero(np.abs(damped) > 1e-15)[0]
    return Reparametrization(start, period, damped[: large[-1] + 1] if len(large) else np.zeros(0, dtype=complex))


def choose(
    speed: Callable[[Array], Array], start: float, period: float, modes: Array | None = None
) -> Reparametrization:
    """The given parameter or a smoothed arclength: the one in which the arclength element needs the fewest modes. ``modes``: the
    ``density_modes`` of the speed, if they are known."""
    if modes is None:
        modes = density_modes(speed, start, period)
    candidates = [identity(start, period)] + [smoothed(modes, start, period, width) for width in (0.01, 0.02, 0.04)]
    usable = [c for c in candidates if len(c.modes) <= 200]
    for n, level in ((512, 1e-7), (2048, 1e-12)):  # for most curves a cursory comparison will do
        needed = [_needed_modes(c, speed, n, level) for c in usable]
        if min(needed) < 0.4 * n:
            break
    return usable[int(np.argmin(needed))]


def _needed_modes(candidate: Reparametrization, speed: Callable[[Array], Array], n: int, level: float) -> int:
    s, slope = candidate.invert(np.arange(n) / n)
    if not np.isfinite(slope).all() or slope.min() <= 0:
        return n
    size = np.abs(np.fft.rfft(speed(s) * slope))
    return int(np.nonzero(size > level * size[0])[0][-1]) + 1
