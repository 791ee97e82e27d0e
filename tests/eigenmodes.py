"""Decay rates of linear problems, computed by gleg and from Bessel functions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from scipy.optimize import brentq

from gleg_core.spec.problem import load_problem
from gleg_core.system.discretise import Discretisation, discretise


def decay_rates(
    domain: dict, boundary: list[dict], equation: list[dict] | None = None, K: int = 22, **keys
) -> np.ndarray:
    """Rates −λ of u_t = Lu, ascending."""
    return rates_of(heat_problem(domain, boundary, equation, K, **keys))


def heat_problem(
    domain: dict, boundary: list[dict], equation: list[dict] | None = None, K: int = 22, **keys
) -> Discretisation:
    field = {"initial": 0, "boundary": boundary, "equation": equation or [{"block": "diffusion"}]}
    spec = {"domain": domain, "basis": {"kind": "fourier", "K": K}, "fields": {"u": field}, "time": {"end": 1}, **keys}
    return discretise(load_problem(spec))


def rates_of(d: Discretisation) -> np.ndarray:
    part = d.system.linear
    identity = torch.eye(part.size, dtype=torch.float64)
    matrix = part.apply(identity).T
    return np.sort(-np.linalg.eigvals(matrix.numpy()).real)


def bessel_rates(function: Callable, radius: float, count: int, largest: float = 14.0) -> np.ndarray:
    """The first ``count`` values (s/radius)² with function(m, s) = 0, m = 0, 1, …, twice for m ≥ 1 (cosine and sine)."""
    roots: list[float] = []
    grid = np.linspace(1e-6, largest, 4000)
    for m in range(14):
        values = function(m, grid)
        for i in np.flatnonzero(values[:-1] * values[1:] < 0):
            root = brentq(lambda s, m=m: float(function(m, s)), grid[i], grid[i + 1], xtol=1e-14)
            roots += [root] * (1 if m == 0 else 2)
    return (np.sort(roots)[:count] / radius) ** 2
