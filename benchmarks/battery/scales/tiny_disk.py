"""A droplet of one micrometre in SI units: radius 1e-6, D = 1e-9, a tenth of a millisecond."""

import numpy as np
from scipy.special import j0

J = 2.404825557695773
PROBLEM = {
    "domain": {"kind": "disk", "radius": 1e-6, "centre": [3e-6, 0]},
    "constants": {"j": J},
    "fields": {
        "u": {
            "initial": "besselj0(j*1e6*sqrt((x - 3e-6)^2 + y^2))",
            "boundary": [{"kind": "dirichlet"}],
            "equation": [{"block": "diffusion", "coefficient": 1e-9}],
        }
    },
    "time": {"end": 3e-4},
}


def exact(x, y, t):
    return j0(J * 1e6 * np.hypot(x - 3e-6, y)) * np.exp(-(J**2) * 1e3 * t)
