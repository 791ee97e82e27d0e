"""The manufactured sources of MMS-I and MMS-V at fixed points, written for speed.

Weak form, tested with v that vanishes on the boundary, so that no second derivatives of the exact solution u* are needed:

    MMS-I   ∫ f v = ∫ (u*_t − μu* + βu*³) v + ε² ∇u*·∇v
    MMS-V   ∫ f v = ∫ u*_t v + (ν∇u* − ½u*² (1, 1))·∇v

MMS-I.  A product of two waves is a sum of two, so that u* = Σ_j c_j(t) S_j(x, y) with 16 fixed functions S_j = q cos κ·x, q sin κ·x. The
linear part of the source is a fixed matrix times (c', c); only u*³ has to be evaluated at the points.

MMS-V.  u* = q Σ_i a_i(t) T_i. The T_i are tanh of linear functions of (x, y), or exponentials of quadratic ones, some times a plane wave.
All coefficients of those functions depend on t alone; the waves are fixed tables, turned by a phase. What is left per step and point are
three tanh, six exp and some multiplications.

Every derivative is exact. Those in time of the coefficients are taken by a complex step, g'(t) = Im g(t + iε)/ε with ε = 1e-40, which has
no cancellation.
"""

from __future__ import annotations

from cmath import cos, pi, sin
from typing import Any

import numpy as np

Array = np.ndarray

EPS2, MU, BETA = 0.015, 0.5, 1.0
NU = 0.035
_TINY = 1e-40
_BLOCK = 2048
"""Points worked on at once, so that the temporary arrays stay in the cache."""


def _with_rate(values: Any) -> tuple[Array, Array]:
    """g(t) and g'(t) from g(t + iε)."""
    array = np.array(values)
    return array.real.copy(), array.imag / _TINY


def level_and_slopes(coefficients: list[tuple[float, int, int]], x: Array, y: Array) -> Array:
    """Σ c x^i y^j, its x and its y derivative, shape (3, n)."""
    c = np.zeros((9, 9))
    for value, i, j in coefficients:
        c[i, j] += value
    poly = np.polynomial.polynomial
    return np.stack([poly.polyval2d(x, y, d) for d in (c, poly.polyder(c, axis=0), poly.polyder(c, axis=1))])


_RE6 = [(1.0, 6, 0), (-15.0, 4, 2), (15.0, 2, 4), (-1.0, 0, 6)]
_RHO6 = [(1.0, 6, 0), (3.0, 4, 2), (3.0, 2, 4), (1.0, 0, 6)]
_RHO8 = [(1.0, 8, 0), (4.0, 6, 2), (6.0, 4, 4), (4.0, 2, 6), (1.0, 0, 8)]
_IM5 = [(5.0, 4, 1), (-10.0, 2, 3), (1.0, 0, 5)]
_RHO2_RE3 = [(1.0, 5, 0), (-2.0, 3, 2), (-3.0, 1, 4)]


def _scaled(factor: float, terms: list[tuple[float, int, int]]) -> list[tuple[float, int, int]]:
    return [(factor * c, i, j) for c, i, j in terms]


ROSETTE = [(0.53**6, 0, 0), *_scaled(-1.0, _RHO6), *_scaled(0.72, _RE6)]
PINWHEEL = [
    (0.60**8, 0, 0),
    *_scaled(-1.0, _RHO8),
    *_scaled(0.30, _RE6),
    *_scaled(-0.10, _IM5),
    *_scaled(0.12, _RHO2_RE3),
]

# MMS-I: m_k = cos(α·x + a(t)) cos(β·x + b(t)); a sine is a cosine shifted by π/2. In each row: α/π, a/φ, shift, β/π, b/φ, shift
_PRODUCTS = (
    ((2.0, 0.0), 1.00, -pi / 2, (0.0, 1.0), -0.45, 0.0),
    ((1.0, 0.0), -0.75, 0.0, (0.0, 3.0), 0.90, -pi / 2),
    ((2.0, 0.8), -0.55, -pi / 2, (1.0, -2.1), 0.70, -pi / 2),
    ((3.0, 0.0), 0.35, 0.0, (0.0, 2.0), -1.20, 0.0),
)


class RosetteSource:
    """``shapes`` (16, n) the functions S_j at the points, ``slopes`` (16, 2, n) their gradients."""

    def __init__(self, x: Array, y: Array):
        vectors = [np.add(a, np.multiply(sign, b)) * pi for a, _, _, b, _, _ in _PRODUCTS for sign in (1, -1)]
        kappa = np.array(vectors)  # (8, 2)
        phase = kappa @ np.stack([x, y])
        q, *slope = level_and_slopes(ROSETTE, x, y)
        c, s = np.cos(phase), np.sin(phase)
        self.shapes = np.concatenate([q * c, q * s])
        self.slopes = np.stack(
            [
                np.concatenate([slope[d] * c - q * s * kappa[:, d, None], slope[d] * s + q * c * kappa[:, d, None]])
                for d in (0, 1)
            ],
            axis=1,
        )

    @staticmethod
    def amplitudes(t: float) -> tuple[Array, Array]:
        """c_j(t) and c_j'(t), each (16,)."""
        phi = 12.0 * (t + _TINY * 1j)
        envelope = 0.42 * (1.05 + 0.35 * sin(0.40 * phi) + 0.25 * cos(1.25 * phi))
        weights = (
            0.45 + 0.40 * sin(0.65 * phi),
            0.30 + 0.45 * cos(1.10 * phi + 0.35),
            0.34 * sin(0.95 * phi),
            0.22 * cos(1.55 * phi),
        )
        cosines, sines = [], []
        for weight, (_, a, a0, _, b, b0) in zip(weights, _PRODUCTS, strict=True):
            for sign in (1, -1):
                delta = a * phi + a0 + sign * (b * phi + b0)
                cosines.append(0.5 * envelope * weight * cos(delta))
                sines.append(-0.5 * envelope * weight * sin(delta))
        return _with_rate(cosines + sines)

    def solution(self, t: float) -> Array:
        """u* at the points."""
        return self.amplitudes(t)[0] @ self.shapes


# MMS-V: plane waves cos(κ·x + δ(t)) as rows κ/π. The product of the first two sines of the packet gives the first two rows.
_PACKET = np.multiply(21, (0.74, -0.36)), np.multiply(17, (0.29, 0.81))
_WAVES = pi * np.array(
    [_PACKET[0] - _PACKET[1], _PACKET[0] + _PACKET[1], (19 * 0.63, 19 * 0.28), (17, 17 * 0.22), (1.44, 0.6)]
)


def _hill(cx: complex, cy: complex, wx: float, wy: float) -> list[complex]:
    """Coefficients for 1, x, y, x², y², xy of −((x − cx)/wx)² − ((y − cy)/wy)²."""
    px, py = wx**-2, wy**-2
    return [-cx * cx * px - cy * cy * py, 2 * cx * px, 2 * cy * py, -px, -py, 0.0]


def _strip(ax: complex, ay: complex, shift: complex, width: float) -> list[complex]:
    """The same of −((ax x + ay y + shift)/width)²."""
    p = width**-2
    return [-shift * shift * p, -2 * ax * shift * p, -2 * ay * shift * p, -ax * ax * p, -ay * ay * p, -2 * ax * ay * p]


class PinwheelSource:
    """Tables for fixed points; ``solution`` and ``jet`` evaluate u* and its derivatives there at a time."""

    def __init__(self, x: Array, y: Array):
        self._size = len(x)
        monomials = np.stack([np.ones_like(x), x, y, x * x, y * y, x * y])
        level = level_and_slopes(PINWHEEL, x, y)
        phase = _WAVES @ np.stack([x, y])
        waves = np.concatenate([np.cos(phase), np.sin(phase)])
        cuts = [slice(start, start + _BLOCK) for start in range(0, len(x), _BLOCK)]
        self._blocks = [
            (cut, monomials[:, cut].copy(), level[:, cut].copy(), waves[:, cut].copy(), np.empty((17, len(x[cut]))))
            for cut in cuts
        ]

    @staticmethod
    def coefficients(t: float) -> dict[str, tuple[Array, Array]]:
        """Everything that depends on t alone, and its rate.

        ``fronts`` (3, 3): arguments of the tanh in 1, x, y; ``hills`` (6, 6): exponents in 1, x, y, x², y², xy; ``phases`` (5,);
        ``heights`` (9,): factors of the three fronts and the six hills. The last four hills carry waves: packet, strip, second hill, wake.
        """
        s = t + _TINY * 1j
        phi = 4.0 * s
        a1, a2 = 0.35 + 0.30 * sin(0.55 * s), -0.95 + 0.22 * cos(0.70 * s)
        k1, k2 = 4.0 + 0.9 * sin(0.60 * s) ** 2, 3.4 + 0.8 * cos(0.75 * s) ** 2
        h1, h2 = -0.28 + 0.52 * s + 0.06 * sin(0.40 * phi), 0.12 * cos(0.35 * phi) - 0.08
        k3 = k1 - 0.45
        fronts = [
            [-k1 * h1, k1 * cos(a1), k1 * sin(a1)],
            [-k3 * (h1 + 0.24), k3 * cos(a1), k3 * sin(a1)],
            [-k2 * h2, k2 * cos(a2), -k2 * sin(a2)],
        ]
        hills = [
            _hill(0.26 * cos(0.52 * phi + 0.3), 0.20 * sin(0.60 * phi - 0.4), 0.23, 0.17),
            _hill(-0.18 + 0.16 * sin(0.48 * phi + 0.9), 0.24 * cos(0.44 * phi + 0.1), 0.18, 0.22),
            _hill(-0.06 + 0.18 * cos(0.41 * phi + 0.5), 0.03 - 0.16 * sin(0.46 * phi - 0.2), 0.44, 0.34),
            _strip(0.52, -0.61, 0.10 * cos(0.33 * phi), 0.28),
            _hill(0.14 * sin(0.57 * phi + 0.8), -0.17 * cos(0.49 * phi - 0.4), 0.24, 0.24),
            _strip(cos(a1), sin(a1), 0.04 * cos(s), 0.44),
        ]
        d1, d2 = -21 * pi * 0.14 * sin(0.43 * phi), 17 * pi * 0.11 * cos(0.37 * phi)
        phases = [d1 - d2, d1 + d2, -0.95 * phi - pi / 2, 0.61 * phi, -0.75 * phi - pi / 2]
        large = 0.82 * 2.6 / 0.45 * (1 + 0.24 * sin(0.35 * phi) + 0.18 * cos(0.80 * s))
        fine = 2.6 / 0.45 * (1 + 0.08 * sin(0.31 * phi))
        heights = [0.72 * large, -0.72 * 0.85 * large, 0.35 * large, 0.52 * large, -0.42 * large]
        heights += [0.5 * 0.022 * fine, 0.013 * fine, 0.010 * fine, 0.18 * large]
        named = {"fronts": fronts, "hills": hills, "phases": phases, "heights": heights}
        return {name: _with_rate(values) for name, values in named.items()}

    def solution(self, t: float) -> Array:
        """u* at the points."""
        return self.jet(t)[0]

    def jet(self, t: float) -> Array:
        """u*, u*_t, u*_x, u*_y at the points, shape (4, n).

        P = u*/q is a sum of 17 kinds of rows: hills (6, with their waves), 1 − tanh² (3), moved waves (5), tanh (3). P and its derivatives
        are polynomials of degree ≤ 2 in (x, y) times those rows, with coefficients that depend on t alone: a product with a small matrix.
        """
        (fronts, fronts_t), (hills, hills_t), (phases, phases_t), (heights, heights_t) = self.coefficients(t).values()
        turn = np.zeros((10, 10))
        wave, along = np.arange(5), np.arange(5, 10)
        turn[wave, wave], turn[wave, along] = np.cos(phases), -np.sin(phases)  # cos(κ·x + δ)
        turn[along, wave], turn[along, along] = -np.sin(phases), -np.cos(phases)  # its derivative by the phase
        parts = np.zeros((13, 17))
        parts[0, :6] = 1.0
        parts[0, 14:] = heights[:3]
        # x derivative: coefficients of 1, x, y; then the same for y
        parts[1:4, :6] = hills[:, 1], 2 * hills[:, 3], hills[:, 5]
        parts[4:7, :6] = hills[:, 2], hills[:, 5], 2 * hills[:, 4]
        parts[1, 6:9], parts[4, 6:9] = fronts[:, 1], fronts[:, 2]
        parts[1, 9:14], parts[4, 9:14] = _WAVES.T
        # time derivative: coefficients of 1, x, y, x², y², xy
        parts[7:, :6] = hills_t.T
        parts[7, :6] += heights_t[3:] / heights[3:]
        parts[7:10, 6:9] = fronts_t.T
        parts[7, 9:14] = phases_t
        parts[7, 14:] = heights_t[:3]

        out = np.empty((4, self._size))
        for cut, monomials, (level, level_x, level_y), table, rows in self._blocks:
            hill, steep, moved, front = rows[:6], rows[6:9], rows[9:14], rows[14:]
            np.tanh(fronts @ monomials[:3], out=front)
            np.multiply(front, front, out=steep)
            np.subtract(1.0, steep, out=steep)
            steep *= heights[:3, None]
            np.exp(hills @ monomials, out=hill)
            hill *= heights[3:, None]
            waves = turn @ table
            np.multiply(waves[5:7], hill[2], out=moved[:2])
            np.negative(moved[1], out=moved[1])  # the packet's pair is a difference
            np.multiply(waves[7:], hill[3:], out=moved[2:])
            waves[0] -= waves[1]
            hill[2] *= waves[0]
            hill[3:] *= waves[2:5]
            made = parts @ rows
            total = made[0]
            u, u_t, u_x, u_y = out[:, cut]
            np.multiply(level, total, out=u)
            made[1:7].reshape(2, 3, -1)[:, 1:] *= monomials[1:3]
            made[7:] *= monomials
            np.add.reduce(made[7:], axis=0, out=u_t)
            u_t *= level
            for slope, level_slope, three in ((u_x, level_x, made[1:4]), (u_y, level_y, made[4:7])):
                np.add.reduce(three, axis=0, out=slope)
                slope *= level
                slope += level_slope * total
        return out
