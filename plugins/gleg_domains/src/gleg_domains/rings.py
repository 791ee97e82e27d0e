"""The ring rule for domains between two polar curves: Gauss along rays times a trapezoid sum along every ring.

    x(ρ, θ) = c + (R_in + ρ (R_out − R_in)) (cos θ, sin θ),   0 < ρ < 1,   R_in = 0 for a star-shaped domain.

A plane wave oscillates linearly in ρ, so the number of rings follows from the longest ray. The number of angles is chosen ring by
ring from the Fourier coefficients of plane waves along it, so small rings get few nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gleg_core.contracts.domain import Quadrature
from gleg_domains.gauss import count_for, jacobi, legendre
from gleg_domains.reparametrize import Reparametrization
from gleg_domains.slabs import probe_waves

Array = np.ndarray
_FINEST = 4096


@dataclass(frozen=True, eq=False)
class Rings:
    """The rings between R_in (None: the centre) and R_out, functions (n,) → (n,) of the angle."""

    outer: Callable[[Array], Array]
    inner: Callable[[Array], Array] | None
    centre: Array

    def radii(self, theta: Array) -> tuple[Array, Array]:
        inner = np.zeros(len(theta)) if self.inner is None else self.inner(theta)
        return inner, self.outer(theta)

    def place(self, rho: float, theta: Array) -> tuple[Array, Array]:
        """Points (n, 2) of one ring and the Jacobian r ∂r/∂ρ (n,)."""
        inner, outer = self.radii(theta)
        r = inner + rho * (outer - inner)
        return self.centre + r[:, None] * np.column_stack([np.cos(theta), np.sin(theta)]), r * (outer - inner)


def ring_rule(rings: Rings, angle: Reparametrization, wavenumber: float, error: float) -> Quadrature | None:
    """The rule with angles at equal steps of the parameter; None if that needs unreasonably many.

    ``error`` is the aim for the error of every integral.
    """
    waves = probe_waves(wavenumber)
    fine = 512
    while True:
        theta, slope = angle.invert(np.arange(fine) / fine)
        if np.max(_large(_spectrum(rings, 1.0, theta, slope, waves), error)) < fine // 2 - 8:
            break
        if (fine := 2 * fine) > _FINEST:
            return None
    inner, outer = rings.radii(theta)
    relative = error / float(np.pi * np.max(outer) ** 2)
    n = 1 + int(count_for(np.array([0.5 * wavenumber * float(np.max(outer - inner))]), relative)[0])
    points, weights = [], []
    for rho, w in zip(*(jacobi(n, 1.0) if rings.inner is None else legendre(n)), strict=True):
        # m equal steps confuse the frequencies m, 2m, … with 0: they must be negligible from m on.
        m = int(np.max(_large(_spectrum(rings, rho, theta, slope, waves), error / (w * n)))) + 1
        angles, slopes = angle.invert((np.arange(m) + 0.5) / m)
        place, jacobian = rings.place(float(rho), angles)
        points.append(place)
        weights.append(w * jacobian * slopes / m)
    return Quadrature(np.concatenate(points), np.concatenate(weights))


def _large(spectrum: Array, level: float) -> Array:
    """Frequencies above the level, 0 included; what lies below rounding of the transform does not count."""
    return np.append(0, np.nonzero(spectrum > max(level, 2e-15 * spectrum.max()))[0])


def _spectrum(rings: Rings, rho: float, theta: Array, slope: Array, waves: Array) -> Array:
    """max over the test waves of |c_k| + |c_−k|, k = 0 … n/2 − 1, of the integrand along one ring."""
    points, jacobian = rings.place(float(rho), theta)
    size = np.abs(np.fft.fft(np.exp(1j * (waves @ points.T)) * (jacobian * slope), axis=1)) / len(theta)
    half = len(theta) // 2
    folded = size[:, :half].copy()
    folded[:, 1:] += size[:, :half:-1]
    return folded.max(axis=0)
