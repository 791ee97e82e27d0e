"""A disk whose rim is held at |x| t: the data have kinks at the top and at the bottom, and grow from nothing."""

import numpy as np
from scipy.special import jv
from truths import bessel_zeros, polar

HARD = True
PROBLEM = {
    "domain": {"kind": "disk", "radius": 1},
    "fields": {
        "u": {
            "initial": 0,
            "boundary": [{"kind": "dirichlet", "value": "t*abs(x)"}],
            "equation": [{"block": "diffusion"}],
        }
    },
    "time": {"end": 1},
}
TERMS = [2 / np.pi, *(4 / np.pi * (-1) ** (m + 1) / (4 * m**2 - 1) for m in range(1, 400))]  # |cos θ|, of cos 2mθ


def exact(x, y, t):
    """t h − w with h harmonic and w_t = Δw + h, w = 0 on the rim; of r^n cos nθ, w tends to (r^n − r^(n+2))/4(n + 1)."""
    r, theta = polar(x, y)
    if t == 0:
        return np.zeros_like(r)
    z2, total = (x + 1j * y) ** 2, np.zeros_like(r)
    for m, c in enumerate(TERMS):
        total += c * (z2**m).real * (t - (1 - r**2) / (4 * (2 * m + 1)))
        if m < 30:
            j = bessel_zeros(2 * m, 40)
            weight = 2 / (j**3 * jv(2 * m + 1, j)) * np.exp(-(j**2) * t)
            parts = (w * jv(2 * m, k * r) for w, k in zip(weight, j, strict=True) if abs(w) > 1e-14)
            total += c * np.cos(2 * m * theta) * sum(parts, np.zeros_like(r))
    return total
