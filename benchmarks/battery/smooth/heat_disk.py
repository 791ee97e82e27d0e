"""Heat on the unit disk, u = 0 on its rim, the mode J₁(jr) cos θ."""

import numpy as np
from scipy.special import j1

J = 3.8317059702075125
PROBLEM = {
    "domain": {"kind": "disk", "radius": 1},
    "constants": {"j": J},
    "formulas": {"r": "sqrt(x^2 + y^2)"},
    "fields": {
        "u": {
            "initial": "besselj(1, j*r)*cos(atan2(y, x))",
            "boundary": [{"kind": "dirichlet"}],
            "equation": [{"block": "diffusion"}],
        }
    },
    "time": {"end": 0.1},
}


def exact(x, y, t):
    return j1(J * np.hypot(x, y)) * np.cos(np.arctan2(y, x)) * np.exp(-(J**2) * t)
