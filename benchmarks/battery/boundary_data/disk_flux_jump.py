"""Heat flows into a disk on the right and out on the left: the flux jumps from 1 to −1 at the top and at the bottom."""

import numpy as np
from scipy.special import jv
from truths import polar, slope_zeros

HARD = True
PROBLEM = {
    "domain": {"kind": "disk", "radius": 1},
    "fields": {
        "u": {
            "initial": 0,
            "boundary": [{"kind": "neumann", "value": "where(x > 0, 1, -1)"}],
            "equation": [{"block": "diffusion"}],
        }
    },
    "time": {"end": 0.5},
}
LOOSE = "near the jumps, the series of the flux is cut"


def exact(x, y, t):
    if t == 0:
        return np.zeros_like(x)
    r, theta = polar(x, y)
    z, total = x + 1j * y, np.zeros_like(x)
    for m in range(1, 2000, 2):
        c = 4 / (np.pi * m**2) * (-1) ** ((m - 1) // 2)  # flux m c r^(m−1) of c r^m cos mθ
        total += c * (z**m).real
        if m < 80:
            k = slope_zeros(m, 30)
            weight = 2 * m / ((k**2 - m**2) * jv(m, k)) * np.exp(-(k**2) * t)
            parts = (w * jv(m, q * r) for w, q in zip(weight, k, strict=True) if abs(w) > 1e-12)
            total -= c * np.cos(m * theta) * sum(parts, np.zeros_like(r))
    return total


def EXCLUDE(x, y):
    return np.hypot(x, np.abs(y) - 1) < 1e-3
