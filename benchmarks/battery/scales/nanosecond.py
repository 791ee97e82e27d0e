"""All within a nanosecond: D = 1e8 on the unit disk."""

import numpy as np
from scipy.special import j0

J = 2.404825557695773
PROBLEM = {
    "domain": {"kind": "disk", "radius": 1},
    "constants": {"j": J},
    "fields": {
        "u": {
            "initial": "besselj0(j*sqrt(x^2 + y^2))",
            "boundary": [{"kind": "dirichlet"}],
            "equation": [{"block": "diffusion", "coefficient": 1e8}],
        }
    },
    "time": {"end": 1e-9},
}


def exact(x, y, t):
    return j0(J * np.hypot(x, y)) * np.exp(-(J**2) * 1e8 * t)
