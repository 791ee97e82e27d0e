"""Smooth arcs of a boundary as polynomial curves in the Chebyshev basis.

Lines, Béziers and spline spans are polynomials; an elliptical arc of at most a quarter turn is one of degree 16 to rounding.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from math import comb

import numpy as np
from numpy.polynomial.chebyshev import chebder, chebpts1, chebroots, chebval, chebvander
from numpy.polynomial.legendre import leggauss

from gleg_core.contracts.domain import Curve

Array = np.ndarray


@cache
def gauss(n: int) -> tuple[Array, Array]:
    """Nodes and weights (n,) of ∫_{−1}^{1}; beyond 64 nodes, panels of Gauss rules with at least n nodes in all."""
    panels = -(-n // 64)
    t, w = leggauss(-(-n // panels))
    middles = (2 * np.arange(panels) + 1) / panels - 1
    return (middles[:, None] + t / panels).ravel(), np.tile(w / panels, panels)


@dataclass(frozen=True, eq=False)
class Arc:
    """γ(t) = Σ_k c_k T_k(t), −1 ≤ t ≤ 1, with c of shape (m, 2). ``command``: number of its drawing command."""

    coefficients: Array
    command: int = 0

    def point(self, t: Array) -> Array:
        """γ(t), (n,) → (n, 2)."""
        return chebval(t, self.coefficients).T

    def velocity(self, t: Array) -> Array:
        """γ'(t), (n,) → (n, 2)."""
        return chebval(t, self.derivative).T

    @cached_property
    def derivative(self) -> Array:
        return chebder(self.coefficients)

    @property
    def straight(self) -> bool:
        return len(self.coefficients) == 2

    @property
    def curve(self) -> Curve:
        """The arc with a parameter from 0 to 1."""
        return Curve(lambda s: self.point(2 * s - 1), self.straight, lambda s: 2 * self.velocity(2 * s - 1))

    @cached_property
    def start(self) -> Array:
        return self.point(np.array([-1.0]))[0]

    @cached_property
    def stop(self) -> Array:
        return self.point(np.array([1.0]))[0]

    def reversed(self) -> "Arc":
        signs = (-1.0) ** np.arange(len(self.coefficients))
        return replace(self, coefficients=self.coefficients * signs[:, None])

    def moved(self, matrix: Array, shift: Array) -> "Arc":
        """The image under x ↦ A x + b."""
        image = self.coefficients @ matrix.T
        image[0] += shift
        return replace(self, coefficients=image)

    def turning_points(self, axis: int) -> Array:
        """Parameters inside the arc where the coordinate ``axis`` has derivative zero, sorted."""
        return _roots(self.derivative[:, axis], near_real=1e-6)

    def crossings(self, axis: int, value: float) -> Array:
        """Parameters inside the arc where the coordinate ``axis`` takes this value, sorted."""
        shifted = self.coefficients[:, axis].copy()
        shifted[0] -= value
        return _roots(shifted, near_real=1e-12)

    @cached_property
    def length(self) -> float:
        """∫|γ'| dt, with twice as many panels until two values agree."""
        last, n = np.inf, 64
        while True:
            t, w = gauss(n)
            value = float(w @ np.linalg.norm(self.velocity(t), axis=1))
            if abs(value - last) <= 1e-14 * value or n >= 1 << 15:
                return value
            last, n = value, 2 * n

    @cached_property
    def swept_area(self) -> float:
        """½∫(x dy − y dx), exact."""
        t, w = gauss(len(self.coefficients))
        (x, y), (dx, dy) = self.point(t).T, self.velocity(t).T
        return 0.5 * float(w @ (x * dy - y * dx))


def _roots(series: Array, near_real: float) -> Array:
    """Real roots of a Chebyshev series inside (−1, 1), sorted; a nearly double root, with an imaginary part, counts."""
    large = np.flatnonzero(np.abs(series) > 1e-17 * np.abs(series).max(initial=0.0))
    if not len(large) or large[-1] == 0:
        return np.zeros(0)
    roots = chebroots(series[: large[-1] + 1])
    real = np.sort(roots.real[np.abs(roots.imag) <= near_real])
    real = real[np.abs(real) < 1.0 - 1e-10]  # a root closer to an end is the end
    return real[np.append(True, np.diff(real) > 1e-10)] if len(real) else real


def interpolated(curve: Callable[[Array], Array], degree: int) -> Arc:
    """The polynomial arc through a curve (n,) → (n, 2), 0 ≤ s ≤ 1, at Chebyshev nodes."""
    t = chebpts1(degree + 1)
    coefficients = 2.0 / (degree + 1) * chebvander(t, degree).T @ curve(0.5 * (1 + t))
    coefficients[0] *= 0.5
    size = np.abs(coefficients).max(axis=1)
    last = max(1, int(np.flatnonzero(size > 1e-16 * size[1:].max()).max()))
    return Arc(coefficients[: last + 1])


def bezier(controls: Array | Sequence[Sequence[float]]) -> Arc:
    """Σ_k binom(d, k) s^k (1 − s)^{d−k} P_k; two control points make a line."""
    p = np.array(controls, dtype=float)
    d = len(p) - 1
    if d == 1:
        return Arc(0.5 * np.array([p[0] + p[1], p[1] - p[0]]))
    k = np.arange(d + 1)
    binomials = np.array([comb(d, i) for i in k])
    return interpolated(lambda s: (binomials * s[:, None] ** k * (1 - s[:, None]) ** (d - k)) @ p, d)


def elliptical(centre: Array, axes: Array, start: float, sweep: float) -> list[Arc]:
    """c + A (cos θ, sin θ), start ≤ θ ≤ start + sweep (in either direction), in parts of at most a quarter turn.

    Coefficients by Jacobi and Anger, e^{i(m + ht)} = e^{im} (J_0(h) + 2 Σ_k i^k J_k(h) T_k(t)): interpolation would blur γ'.
    """
    from scipy.special import jv

    count = max(1, int(np.ceil(abs(sweep) / (0.5 * np.pi) - 1e-9)))
    half = 0.5 * sweep / count
    k = np.arange(17)
    series = np.where(k == 0, 1, 2) * 1j ** (k % 4) * jv(k, half)
    turned = np.exp(1j * (start + (2 * np.arange(count)[:, None] + 1) * half)) * series
    return [Arc(np.column_stack([t.real, t.imag])).moved(axes, centre) for t in turned]
