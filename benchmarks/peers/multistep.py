"""IMEX multistep formulas (SBDF1 … SBDF6) for  M u' = −D K u + N(u) + F(t)  with values at quadrature points.

    Σ_{j=0}^{k} a_j u_{n+1−j} / h + D K u_{n+1} = Σ_{j=1}^{k} b_j N(u_{n+1−j}) + F(t_{n+1})

M mass, K stiffness; diffusion (and a linear reaction, where there is one) is implicit, N explicit. The matrix a_0/h M + D K is
factorised once. All that is integrated against test functions (old values, N and the values of F) is first added up at the quadrature
points, so that a step is: evaluate u there, one load vector, one solve. No multiplication by M is needed.

Start-up: the exact solution at the quadrature points where there is one; else one step of the IMEX Euler method with 1, 2, …, k substeps,
extrapolated to order k (Aitken–Neville).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from exact import END
from outcome import Clock, Settings
from sources import BETA, EPS2, MU, NU, PinwheelSource, RosetteSource

Array = np.ndarray


class Elements(Protocol):
    """A finite element space with nq quadrature points; a state is whatever the package calls a vector."""

    x: Array
    y: Array
    weights: Array  # of the quadrature, with the Jacobian

    def values(self, state: Any) -> Array:
        """u at the quadrature points, (nq,)."""

    def load(self, density: Array, flux: tuple[Array, Array] | None = None) -> Any:
        """∫ density v + flux·∇v for all test functions v, as a vector."""

    def array(self, vector: Any) -> Array:
        """The numbers of a vector, flat, not a copy."""

    def factorised(self, mass: float, stiffness: float) -> Callable[[Any], Any]:
        """b ↦ (mass M + stiffness K)⁻¹ b on the free unknowns."""


def formula(k: int) -> tuple[Array, Array]:
    """a (k + 1,) and b (k,): the derivative at 0 of, and the extrapolation to 0 by, polynomials through the points 0, −1, …, −k."""
    nodes = -np.arange(k + 1.0)
    powers = nodes[None, :] ** np.arange(k + 1)[:, None]
    a = np.linalg.solve(powers, np.eye(k + 1)[1])
    b = np.linalg.solve(powers[:k, 1:], np.eye(k)[0])
    return a, b


class Past:
    """The last k values of u and of the explicit term at the points, and their sums in the formula."""

    def __init__(self, k: int, h: float, size: int):
        a, b = formula(k)
        self._k, self._newest = k, 0
        self._rows = np.zeros((2 * k, size))  # u, then the explicit term; each a ring
        self._coefficients = [np.concatenate([np.roll(-a[1:] / h, i), np.roll(b, i)]) for i in range(k)]

    def append(self, u: Array, explicit: Array) -> None:
        self._newest = (self._newest - 1) % self._k
        self._rows[self._newest] = u
        self._rows[self._k + self._newest] = explicit

    def combined(self) -> tuple[Array, Array]:
        """−Σ_{j≥1} a_j u_{n+1−j}/h and Σ_{j≥1} b_j N_{n+1−j}."""
        k, c = self._k, self._coefficients[self._newest]
        return c[:k] @ self._rows[:k], c[k:] @ self._rows[k:]

    def right_hand_side(self) -> Array:
        """The sum of the two, for an explicit term that is a density as well."""
        return self._coefficients[self._newest] @ self._rows


def rosette(elements: Elements, settings: Settings, clock: Clock) -> Any:
    """MMS-I: F = fixed load vectors times amplitudes, and βu*³ at the points; μu is implicit."""
    k, h = settings.bdf, END["mms-1-rosette"] / settings.steps
    with clock.stage("factorisation"):
        solve = elements.factorised(formula(k)[0][0] / h - MU, EPS2)
    with clock.stage("forcing"):
        source = RosetteSource(elements.x, elements.y)
        nothing = np.zeros_like(elements.x)
        linear = [elements.load(s) for s in source.shapes]
        gradients = [elements.load(nothing, (EPS2 * g[0], EPS2 * g[1])) for g in source.slopes]
        columns = np.stack([elements.array(v) for v in (*linear, *gradients)], axis=1)
    with clock.stage("stepping"):
        past = Past(k, h, len(elements.x))
        state = None
        for j in range(k):
            u = source.solution(j * h)
            past.append(u, -BETA * u * u * u)
        for n in range(k, settings.steps + 1):
            with clock.stage("forcing"):
                c, rate = source.amplitudes(n * h)
                forcing = columns @ np.concatenate([rate - MU * c, c])
                true = c @ source.shapes
                density = true * true
                density *= true
                density *= BETA
            density += past.right_hand_side()
            right = elements.load(density)
            elements.array(right)[:] += forcing
            state = solve(right)
            u = elements.values(state)
            past.append(u, -BETA * u * u * u)
    return state


def pinwheel(elements: Elements, settings: Settings, clock: Clock) -> Any:
    """MMS-V: u*_t and the flux ν∇u* − ½u*²(1, 1) at the points; transport −u u_x − u u_y as the flux ½u²(1, 1)."""
    k, h = settings.bdf, END["mms-5-pinwheel"] / settings.steps
    with clock.stage("factorisation"):
        solve = elements.factorised(formula(k)[0][0] / h, NU)
    with clock.stage("forcing"):
        source = PinwheelSource(elements.x, elements.y)
    with clock.stage("stepping"):
        past = Past(k, h, len(elements.x))
        state = None
        for j in range(k):
            u = source.solution(j * h)
            past.append(u, 0.5 * u * u)
        for n in range(k, settings.steps + 1):
            with clock.stage("forcing"):
                u, density, flux_x, flux_y = source.jet(n * h)
                u *= u
                u *= -0.5
                flux_x *= NU
                flux_y *= NU
            old, transport = past.combined()
            transport += u
            flux_x += transport
            flux_y += transport
            density += old
            state = solve(elements.load(density, (flux_x, flux_y)))
            u = elements.values(state)
            past.append(u, 0.5 * u * u)
    return state


def allen_cahn(elements: Elements, settings: Settings, clock: Clock) -> Any:
    """Explicit: the reaction r = u − u³ without its mean, so that ∫u stays what it was."""
    k, h = settings.bdf, END["allen-cahn-disk"] / settings.steps
    mean_weights = elements.weights / elements.weights.sum()

    def reaction(u: Array) -> Array:
        r = u - u * u * u
        r -= mean_weights @ r
        return r

    with clock.stage("factorisation"):
        solve = elements.factorised(formula(k)[0][0] / h, ALLEN_CAHN_EPS2)
        substeppers = [elements.factorised(m / h, ALLEN_CAHN_EPS2) for m in range(1, k + 1)] if k > 1 else []
    with clock.stage("stepping"):
        past = Past(k, h, len(elements.x))
        u, state = allen_cahn_start(elements.x, elements.y), None
        past.append(u, reaction(u))
        for _ in range(1, k):
            u = extrapolated_euler(elements, substeppers, h, u, reaction)
            past.append(u, reaction(u))
        for _ in range(k, settings.steps + 1):
            state = solve(elements.load(past.right_hand_side()))
            u = elements.values(state)
            past.append(u, reaction(u))
    return state


def extrapolated_euler(
    elements: Elements, substeppers: list[Callable[[Any], Any]], h: float, u: Array, reaction: Callable[[Array], Array]
) -> Array:
    """One step from values u at the points: IMEX Euler with m = 1 … k substeps, extrapolated to m → ∞."""

    def euler(m: int) -> Array:
        v = u
        for _ in range(m):
            v = elements.values(substeppers[m - 1](elements.load(reaction(v) + m / h * v)))
        return v

    return extrapolated(euler, len(substeppers))


def extrapolated(euler: Callable[[int], Array], k: int) -> Array:
    """The limit of euler(m) for m → ∞ from m = 1 … k, by Aitken and Neville."""
    table: list[Array] = []
    for m in range(1, k + 1):
        row = [euler(m)]
        for i, coarser in enumerate(table, start=1):
            row.append(row[-1] + (row[-1] - coarser) / (m / (m - i) - 1))
        table = row
    return table[-1]


ALLEN_CAHN_EPS2, _RADIUS, _LARGEST = 5e-3, 0.4, 1.298937202109348
_MODES = (  # amplitude, m, first positive zero of J_m', cosine or sine of mθ
    (1.00, 1, 1.841183781340659, np.cos),
    (-0.28, 2, 3.05423692822714, np.cos),
    (0.06, 0, 3.831705970207512, np.cos),
    (-0.08, 3, 4.201188941210528, np.sin),
    (0.05, 2, 3.05423692822714, np.sin),
    (0.04, 4, 5.317553126083994, np.cos),
)


def allen_cahn_start(x: Array, y: Array) -> Array:
    """0.7 times a sum of Bessel modes of the disk over its largest value."""
    from scipy.special import jv

    s, angle = np.hypot(x, y) / _RADIUS, np.arctan2(y, x)
    total = np.zeros_like(x)
    for amplitude, m, zero, wave in _MODES:
        peak = jv(m, zero) if m else 1.0
        total += amplitude / peak * jv(m, zero * s) * wave(m * angle)
    return 0.7 / _LARGEST * total


SOLVERS: dict[str, Callable[[Elements, Settings, Clock], Any]] = {
    "mms-1-rosette": rosette,
    "mms-5-pinwheel": pinwheel,
    "allen-cahn-disk": allen_cahn,
}
