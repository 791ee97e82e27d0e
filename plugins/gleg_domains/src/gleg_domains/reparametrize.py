"""A better parameter for a smooth closed curve.

Equal steps of the given parameter s can be crowded on dull parts of a curve and sparse at its bends. With a smooth
periodic monitor m(s) > 0 of mean one,

    t(s) = ∫_0^s m(σ) dσ / period,

equal steps of t put nodes where m is large. The monitor is the speed |γ'|, smoothed: the speed itself has branch points near
the real axis wherever the curve bends sharply, and they would spoil the exponential convergence of trapezoid sums.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Reparametrization:
    """t(s) from the Fourier series of the monitor, m(s) = 1 + 2 Re Σ_k m_k e^{ikφ}, φ = 2π(s − start)/period."""

    start: float
    period: float
    modes: Array
    """m_k, k = 1 … K."""

    def forward(self, s: Array) -> tuple[Array, Array]:
        """t(s), one unit per period, and the monitor m(s) = period · dt/ds, each (n,)."""
        k = np.arange(1, len(self.modes) + 1)
        integrated = self.modes / (2j * np.pi * k)
        waves = np.exp((2j * np.pi / self.period) * np.outer(s - self.start, k))
        # einsum, not BLAS: these products are too small for threads.
        change, density = (2 * np.einsum("nk,k->n", waves, c).real for c in (integrated, self.modes))
        return (s - self.start) / self.period + change - 2 * float(integrated.sum().real), 1 + density

    @cached_property
    def _table(self) -> tuple[Array, Array]:
        s = self.start + self.period * np.linspace(0, 1, 16 * len(self.modes) + 65)
        return self.forward(s)[0], s

    def invert(self, t: Array) -> tuple[Array, Array]:
        """s(t) and ds/dt, each (n,), for t in [0, 1]; Newton's method from a table."""
        if not len(self.modes):
            return self.start + self.period * t, np.full(len(t), self.period)
        s = np.interp(t, *self._table)
        for _ in range(20):
            value, monitor = self.forward(s)
            step = (value - t) * self.period / monitor
            s = s - step
            if np.abs(step).max(initial=0.0) <= 1e-9 * self.period:
                break
        return s, self.period / self.forward(s)[1]


def identity(start: float, period: float) -> Reparametrization:
    return Reparametrization(start, period, np.zeros(0, dtype=complex))


def smoothed(
    density: Callable[[Array], Array], start: float, period: float, width: float, strength: float = 1.0
) -> Reparametrization:
    """Monitor 1 + strength·(G_width ∗ density / mean − 1); ``width`` is the Gaussian's, as a fraction of the period."""
    n = 2048
    values = density(start + period * np.arange(n) / n)
    coefficients = np.fft.rfft(values / values.mean())[1 : n // 2] / n
    k = np.arange(1, n // 2)
    damped = strength * coefficients * np.exp(-0.5 * (2 * np.pi * k * width) ** 2)
    large = np.nonzero(np.abs(damped) > 1e-15)[0]
    return Reparametrization(start, period, damped[: large[-1] + 1] if len(large) else np.zeros(0, dtype=complex))


def choose(speed: Callable[[Array], Array], start: float, period: float) -> Reparametrization:
    """The given parameter or a smoothed arclength: the one in which the arclength element needs the fewest modes."""
    candidates = [identity(start, period)] + [smoothed(speed, start, period, width) for width in (0.01, 0.02, 0.04)]
    usable = [c for c in candidates if len(c.modes) <= 200]
    for n, level in (
        (512, 1e-7),
        (2048, 1e-12),
    ):  # for most curves a cursory comparison will do, and it takes a tenth of the time
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
