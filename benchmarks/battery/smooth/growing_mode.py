"""Growth beats diffusion on the disk: J₀(jr) exp((30 − j²)t), by a factor of 3e10 until the end."""

import numpy as np
from scipy.special import j0

HARD = True
J = 2.404825557695773
PROBLEM = {
    "domain": {"kind": "disk", "radius": 1},
    "constants": {"j": J},
    "fields": {
        "u": {
            "initial": "besselj0(j*sqrt(x^2 + y^2))",
            "boundary": [{"kind": "dirichlet"}],
            "equation": [{"block": "diffusion"}, {"block": "power", "coefficient": 30}],
        }
    },
    "time": {"end": 1},
}


def exact(x, y, t):
    return j0(J * np.hypot(x, y)) * np.exp((30 - J**2) * t)
