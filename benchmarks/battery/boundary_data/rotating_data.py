"""A disk whose rim is held at cos(θ − 30t): a skin of waves that turns with the data, which set in within 0.1."""

import numpy as np
from scipy.special import jv
from truths import bessel_zeros, polar

HARD = True
W = 30.0
PROBLEM = {
    "domain": {"kind": "disk", "radius": 1},
    "fields": {
        "u": {
            "initial": 0,
            "boundary": [{"kind": "dirichlet", "value": "(1 - exp(-8*t))*cos(atan2(y, x) - 30*t)"}],
            "equation": [{"block": "diffusion"}],
        }
    },
    "time": {"end": 1},
}


def exact(x, y, t):
    """Re of e^{iθ} Σ over the rates s of the data e^{st}: J₁(√(−s) r)/J₁(√(−s)) e^{st}, less what the start lacks, in Bessel modes."""
    r, theta = polar(x, y)
    j = bessel_zeros(1, 80)
    total = np.zeros_like(r, dtype=complex)
    for s, sign in ((-1j * W, 1), (-1j * W - 8, -1)):
        k = np.sqrt(-s + 0j)
        total += sign * jv(1, k * r) / jv(1, k) * np.exp(s * t)
        weight = sign * 2 * j / (jv(2, j) * (j**2 + s)) * np.exp(-(j**2) * t)  # of J₁(kr)/J₁(k)
        total -= sum((w * jv(1, q * r) for w, q in zip(weight, j, strict=True)), np.zeros_like(total))
    return (total * np.exp(1j * theta)).real
