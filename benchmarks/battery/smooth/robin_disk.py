"""Heat on the unit disk that leaks a little, κ = 0.01: J₀(kr) with k J₁(k) = κ J₀(k)."""

import numpy as np
from scipy.special import j0
from truths import robin_zeros

K = float(robin_zeros(0.01, 1)[0])
PROBLEM = {
    "domain": {"kind": "disk", "radius": 1},
    "constants": {"k": K},
    "fields": {
        "u": {
            "initial": "besselj0(k*sqrt(x^2 + y^2))",
            "boundary": [{"kind": "robin", "kappa": 0.01}],
            "equation": [{"block": "diffusion"}],
        }
    },
    "time": {"end": 20},
}


def exact(x, y, t):
    return j0(K * np.hypot(x, y)) * np.exp(-(K**2) * t)
