"""Heat on the unit disk that leaks at once, κ = 1e6, nearly u = 0 but not quite."""

import numpy as np
from scipy.special import j0
from truths import robin_zeros

HARD = True
K = float(robin_zeros(1e6, 1)[0])
PROBLEM = {
    "domain": {"kind": "disk", "radius": 1},
    "constants": {"k": K},
    "fields": {
        "u": {
            "initial": "besselj0(k*sqrt(x^2 + y^2))",
            "boundary": [{"kind": "robin", "kappa": 1e6}],
            "equation": [{"block": "diffusion"}],
        }
    },
    "time": {"end": 0.3},
}


def exact(x, y, t):
    return j0(K * np.hypot(x, y)) * np.exp(-(K**2) * t)
