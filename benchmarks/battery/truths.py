"""Formulas that several truths share: zeros of Bessel functions and the series of heat that hold on intervals, disks and sectors."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.special import erf, erfcx, jv, jvp

Array = np.ndarray


def roots(f: Callable[[Array], Array], n: int, start: float, step: float = 0.05) -> Array:
    """The first n zeros of f above ``start``; none are closer than ``step``."""
    grid = start + step * np.arange(int((n + 10) * np.pi / step))
    values = f(grid)
    at = np.flatnonzero(np.sign(values[:-1]) * np.sign(values[1:]) < 0)[:n]
    return np.array([brentq(f, grid[i], grid[i + 1], xtol=1e-15, rtol=1e-14) for i in at])


@cache
def bessel_zeros(order: float, n: int) -> Array:
    """The first n positive zeros of J_order."""
    return roots(lambda k: jv(order, k), n, order + 1e-3 if order > 1 else 0.3)


@cache
def slope_zeros(order: float, n: int) -> Array:
    """The first n positive zeros of J′_order."""
    return roots(lambda k: jvp(order, k), n, max(0.9 * order, 0.05))


@cache
def robin_zeros(kappa: float, n: int) -> Array:
    """The first n positive zeros of k J₁(k) − κ J₀(k): heat on the unit disk that leaks, ∂u/∂n + κu = 0."""
    return roots(lambda k: k * jv(1, k) - kappa * jv(0, k), n, 1e-4)


def polar(x: Array, y: Array) -> tuple[Array, Array]:
    """r and −π < θ ≤ π."""
    return np.hypot(x, y), np.arctan2(y, x)


def sector_bump(order: float, r: Array, t: float, n: int = 150) -> Array:
    """Radial factor of heat in a sector with u = 0 at r = 1, from r^order (1 − r²) at the start, a = order:
    Σ 4 J_{a+2}(j)/(j J_{a+1}(j))² J_a(jr) e^(−j²t)."""
    if t == 0:
        return r**order * (1 - r**2)
    j = bessel_zeros(order, n)
    weight = 4 * jv(order + 2, j) / (j * jv(order + 1, j)) ** 2 * np.exp(-(j**2) * t)
    return sum(w * jv(order, k * r) for w, k in zip(weight, j, strict=True) if abs(w) > 1e-13)


def cooling_disk(order: int, r: Array, t: float, n: int = 150) -> Array:
    """Radial factor of heat in the unit disk with u = 0 at r = 1, from r^order at the start: Σ 2/(j J_{m+1}(j)) J_m(jr) e^(−j²t)."""
    if t == 0:
        return r**order
    j = bessel_zeros(order, n)
    weight = 2 / (j * jv(order + 1, j)) * np.exp(-(j**2) * t)
    return sum((w * jv(order, k * r) for w, k in zip(weight, j, strict=True) if abs(w) > 1e-12), np.zeros_like(r))


def cooling_slab(x: Array, t: float, length: float = 1.0, rate: float = 1.0) -> Array:
    """Heat on 0 < x < length with u = 0 at both ends, from 1 at the start: Σ 4/(nπ) sin(nπx/L) e^(−n²π²Dt/L²), n odd."""
    if t == 0:
        return np.ones_like(x)
    n = np.arange(1, 4001, 2)
    weight = 4 / (n * np.pi) * np.exp(-((n * np.pi / length) ** 2) * rate * t)
    return sum(w * np.sin(k * np.pi * x / length) for w, k in zip(weight, n, strict=True) if w > 1e-14)


def warming_slab(x: Array, t: float, rate: float = 1.0) -> Array:
    """Heat on 0 < x < 1 from 0 at the start, with u = 1 at x = 0 and u = 0 at x = 1: 1 − x − Σ 2/(nπ) sin(nπx) e^(−n²π²Dt)."""
    if t <= 0:
        return np.zeros_like(x)
    n = np.arange(1, 4001)
    weight = 2 / (n * np.pi) * np.exp(-((n * np.pi) ** 2) * rate * t)
    return (
        1 - x - sum((w * np.sin(k * np.pi * x) for w, k in zip(weight, n, strict=True) if w > 1e-14), np.zeros_like(x))
    )


def spread_step(x: Array, edge: float, t: float, rate: float = 1.0) -> Array:
    """Heat on 0 < x < 1 with no flux at the ends, from 1 below ``edge`` and 0 above at the start."""
    if t == 0:
        return np.where(x < edge, 1.0, 0.0)
    n = np.arange(1, 4001)
    weight = 2 / (n * np.pi) * np.sin(n * np.pi * edge) * np.exp(-((n * np.pi) ** 2) * rate * t)
    return edge + sum(w * np.cos(k * np.pi * x) for w, k in zip(weight, n, strict=True) if abs(w) > 1e-14)


def heat_kernel(distance: Array, width: float, rate: float, t: float, dim: int) -> Array:
    """Heat in all of space from exp(−|x|²/width²) at the start."""
    spread = width**2 + 4 * rate * t
    return (width**2 / spread) ** (dim / 2) * np.exp(-(distance**2) / spread)


def pulse_response(rate: Array | float, t: float, at: float, width: float) -> Array:
    """w at time t of w_t = −rate·w + exp(−(t − at)²/width²), from nothing long before: what a pulse in time leaves of a mode."""
    now = (t - at) / width
    z = now - np.asarray(rate) * width / 2
    early = np.exp(-(now**2)) * erfcx(np.maximum(-z, 0))
    late = np.exp(np.where(z > 0, z**2 - now**2, 0)) * (1 + erf(z))
    return width * np.sqrt(np.pi) / 2 * np.where(z < 0, early, late)


def kinetics(rates: Callable[[float, Array], list[float]], start: list[float], end: float) -> Callable[[float], Array]:
    """The solution z(t) of z′ = rates(t, z), for fields that are the same everywhere."""
    return solve_ivp(rates, (0, end), start, method="Radau", rtol=1e-11, atol=1e-14, dense_output=True).sol
