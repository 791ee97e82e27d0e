"""Decay holds what diffuses into a cold disk within a layer of width 0.03 at its rim."""

import numpy as np
from scipy.special import ive, j0, j1
from truths import bessel_zeros

HARD = True
D = 1e-3
PROBLEM = {
    "domain": {"kind": "disk", "radius": 1},
    "constants": {"D": D},
    "fields": {
        "u": {
            "initial": 0,
            "boundary": [{"kind": "dirichlet", "value": 1}],
            "equation": [{"block": "diffusion", "coefficient": "D"}, {"block": "power", "coefficient": -1}],
        }
    },
    "time": {"end": 2},
}


def exact(x, y, t):
    """I₀(r/√D)/I₀(1/√D) − Σ 2Dj/((1 + Dj²) J₁(j)) J₀(jr) e^(−(1 + Dj²)t)."""
    r, s = np.hypot(x, y), 1 / np.sqrt(D)
    if t == 0:
        return np.zeros_like(r)
    j = bessel_zeros(0, 250)
    weight = 2 * D * j / ((1 + D * j**2) * j1(j)) * np.exp(-(1 + D * j**2) * t)
    fading = sum((w * j0(k * r) for w, k in zip(weight, j, strict=True) if abs(w) > 1e-13), np.zeros_like(r))
    return ive(0, s * r) / ive(0, s) * np.exp(s * (r - 1)) - fading
