"""The boundaries of the three domains as closed curves θ ↦ r(θ)(cos θ, sin θ), cut into pieces for curved finite elements.

A boundary edge of an element of order p is the polynomial of degree p that interpolates the curve at p + 1 Gauss–Lobatto points of its
piece. Pieces are chosen so that no piece is longer than ``maxh`` or turns by more than ``bend`` radians: the petals have narrow tips
(the complex singularities of r(θ) are close to the real axis there), and an edge across a tip would spoil the geometry.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Array = np.ndarray


def rosette_radius(theta: Array) -> Array:
    """q = 0 solved for ρ."""
    return 0.53 / (1 - 0.72 * np.cos(6 * theta)) ** (1 / 6)


def pinwheel_radius(theta: Array) -> Array:
    """The zero of ρ ↦ q(ρ, θ), by Newton's method from outside: q is concave along the ray there, so the iterates fall to the zero."""
    sixth, fifth = 0.30 * np.cos(6 * theta), 0.12 * np.cos(3 * theta) - 0.10 * np.sin(5 * theta)
    rho = np.full(np.shape(theta), 1.2)
    for _ in range(60):
        level = 0.60**8 - rho**8 + sixth * rho**6 + fifth * rho**5
        step = level / (-8 * rho**7 + 6 * sixth * rho**5 + 5 * fifth * rho**4)
        rho = rho - step
        if not (np.abs(step) > 1e-15).any():
            break
    return rho


def disk_radius(theta: Array) -> Array:
    return np.full(np.shape(theta), 0.4)


RADII: dict[str, Callable[[Array], Array]] = {
    "mms-1-rosette": rosette_radius,
    "mms-5-pinwheel": pinwheel_radius,
    "allen-cahn-disk": disk_radius,
}


def curve(problem: str, theta: Array) -> Array:
    """Points (…, 2) of the boundary."""
    radius = RADII[problem](theta)
    return np.stack([radius * np.cos(theta), radius * np.sin(theta)], axis=-1)


def breakpoints(problem: str, maxh: float, bend: float, samples: int = 4096) -> Array:
    """Angles (n + 1,) from 0 to 2π that end the pieces, which are equal in the measure ((speed/maxh)² + (turning/bend)²)^{1/2} dθ."""
    theta = 2 * np.pi * np.arange(samples) / samples
    frequency = 1j * np.fft.fftfreq(samples, 1 / samples)
    modes = np.fft.fft(RADII[problem](theta) * np.exp(1j * theta))
    first, second = np.fft.ifft(frequency * modes), np.fft.ifft(frequency**2 * modes)
    density = np.hypot(np.abs(first) / maxh, (second / first).imag / bend)
    mass = np.concatenate([[0.0], np.cumsum((density + np.roll(density, -1)) / 2)]) * 2 * np.pi / samples
    count = max(4, int(np.ceil(mass[-1])))
    return np.interp(np.linspace(0, mass[-1], count + 1), mass, np.append(theta, 2 * np.pi))


def lobatto(order: int) -> Array:
    """The p + 1 Gauss–Lobatto points on [0, 1]: the ends and the zeros of P_p'."""
    legendre = np.polynomial.legendre.Legendre.basis(order)
    return np.concatenate([[0.0], (np.sort(legendre.deriv().roots().real) + 1) / 2, [1.0]])
