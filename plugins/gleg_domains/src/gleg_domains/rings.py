"""The ring rule for domains between two polar curves: Gauss along rays times a trapezoid sum along every ring.

    x(ρ, θ) = c + (R_in + ρ (R_out − R_in)) (cos θ, sin θ),   0 < ρ < 1,   R_in = 0 for a star-shaped domain.

A plane wave oscillates linearly in ρ, so the number of rings follows from the longest ray. The number of angles is chosen ring by
ring from the Fourier coefficients of plane waves along it, so small rings get few nodes.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from gleg_core.contracts.domain import Quadrature
from gleg_domains.gauss import count_for, jacobi, legendre
from gleg_domains.reparametrize import Reparametrization
from gleg_domains.slabs import probe_waves

Array = np.ndarray
_COARSEST, _FINEST = 128, 4096
"""Samples along a ring that tell its spectrum."""


@dataclass(frozen=True, eq=False)
class Rings:
    """The rings between R_in (None: the centre) and R_out, functions (n,) → (n,) of the angle."""

    outer: Callable[[Array], Array]
    inner: Callable[[Array], Array] | None
    centre: Array


@dataclass(frozen=True, eq=False)
class Places:
    """Angles, (n, 2) unit vectors, where the radii are known, and dθ/dt for the parameter t of the rings, each (n,)."""

    unit: Array
    inner: Array
    outer: Array
    slope: Array

    @classmethod
    def at(cls, rings: Rings, angle: Reparametrization, t: Array) -> "Places":
        theta, slope = angle.invert(t)
        inner = np.zeros(len(theta)) if rings.inner is None else rings.inner(theta)
        return cls(np.column_stack([np.cos(theta), np.sin(theta)]), inner, rings.outer(theta), slope)

    def ring(self, rho: Array | float) -> tuple[Array, Array]:
        """Points (n, 2) relative to the centre, and the Jacobian r ∂r/∂ρ dθ/dt, (n,)."""
        r = self.inner + rho * (self.outer - self.inner)
        return r[:, None] * self.unit, r * (self.outer - self.inner) * self.slope


@dataclass(frozen=True, eq=False)
class RingPlan:
    """A ring rule before its nodes are made; angles are equal steps of the parameter ``angle``, ``error`` is the aim for the error of
    every integral."""

    rings: Rings
    angle: Reparametrization
    wavenumber: float
    error: float
    _kept: dict[int, Places] = field(default_factory=dict)

    @cached_property
    def possible(self) -> bool:
        """Whether the parameter needs a reasonable number of angles."""
        return self._highest(1.0, self.error) < _FINEST // 2

    @cached_property
    def nodes(self) -> int:
        """About how many nodes the rule has: the number on a ring grows nearly linearly from the inside to the outside."""
        rho, w = self._radial
        return len(rho) * self._angles(rho[len(rho) // 2], w[len(rho) // 2])

    def rule(self) -> Quadrature:
        counts = [self._angles(rho, w) for rho, w in zip(*self._radial, strict=True)]
        rho, w = (np.repeat(values, counts) for values in self._radial)
        t = np.concatenate([(np.arange(m) + 0.5) / m for m in counts])
        points, jacobian = Places.at(self.rings, self.angle, t).ring(rho)
        return Quadrature(self.rings.centre + points, w * jacobian / np.repeat(counts, counts))

    @cached_property
    def _radial(self) -> tuple[Array, Array]:
        """Gauss nodes ρ and weights along rays; at the centre the Jacobian vanishes like ρ."""
        at = self._samples(_COARSEST)
        relative = self.error / float(np.pi * np.max(at.outer) ** 2)
        reach = 0.5 * self.wavenumber * float(np.max(at.outer - at.inner))
        n = 1 + int(count_for(np.array([reach]), relative)[0])
        return jacobi(n, 1.0) if self.rings.inner is None else legendre(n)

    def _angles(self, rho: float, w: float) -> int:
        """m equal steps confuse the frequencies m, 2m, … with 0: they must be negligible from m on."""
        return self._highest(rho, self.error / (w * len(self._radial[0]))) + 1

    def _highest(self, rho: float, level: float) -> int:
        """The highest frequency along a ring that is above the level, by as many samples as it takes."""
        size = _COARSEST // 2
        highest = size
        while highest >= size // 2 - 8 and size < _FINEST:
            size *= 2
            spectrum = self._spectrum(rho, self._samples(size))
            above = np.nonzero(spectrum > max(level, 2e-15 * spectrum.max()))[
                0
            ]  # the rest is rounding of the transform
            highest = int(above.max(initial=0))
        return highest

    def _samples(self, size: int) -> Places:
        if size not in self._kept:
            self._kept[size] = Places.at(self.rings, self.angle, np.arange(size) / size)
        return self._kept[size]

    def _spectrum(self, rho: float, at: Places) -> Array:
        """max over the test waves of |c_k| + |c_−k|, k = 0 … n/2 − 1, of the integrand along one ring."""
        points, jacobian = at.ring(rho)
        size = np.abs(np.fft.fft(np.exp(1j * (probe_waves(self.wavenumber) @ points.T)) * jacobian, axis=1)) / len(
            points
        )
        half = len(points) // 2
        size[:, 1:half] += size[:, :half:-1]
        return size[:, :half].max(axis=0)
