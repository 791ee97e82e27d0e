"""A disk held at 1 above and −1 below: the data jump twice on the rim. Steady, with a mode that fades on top."""

import numpy as np
from scipy.special import j0

HARD = True
J = 2.404825557695773
PROBLEM = {
    "domain": {"kind": "disk", "radius": 1},
    "constants": {"j": J},
    "formulas": {"r2": "x^2 + y^2"},
    "fields": {
        "u": {
            "initial": "2/pi*atan2(2*y, 1 - r2) + besselj0(j*sqrt(r2))",
            "boundary": [{"kind": "dirichlet", "value": "where(y > 0, 1, -1)"}],
            "equation": [{"block": "diffusion"}],
        }
    },
    "time": {"end": 0.3},
}


def exact(x, y, t):
    r2 = x**2 + y**2
    return 2 / np.pi * np.arctan2(2 * y, 1 - r2) + j0(J * np.sqrt(r2)) * np.exp(-(J**2) * t)


def EXCLUDE(x, y):
    return np.hypot(np.abs(x) - 1, y) < 1e-3
