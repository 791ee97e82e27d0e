"""The rate of growth has a pulse of width 0.01: the mode grows by e^4 at once, then fades."""

import numpy as np
from scipy.special import erf

HARD = True
TIMES = (0.613, 0.622, 0.7)
PROBLEM = {
    "domain": {"kind": "rectangle", "x": [0, 1], "y": [0, 1]},
    "fields": {
        "u": {
            "initial": "sin(pi*x)*sin(pi*y)",
            "boundary": [{"kind": "dirichlet"}],
            "equation": [
                {"block": "diffusion", "coefficient": 0.05},
                {"block": "power", "coefficient": "225*gauss((t - 0.62)/0.01)"},
            ],
        }
    },
    "time": {"end": 1},
}


def exact(x, y, t):
    grown = 225 * 0.01 * np.sqrt(np.pi) / 2 * (erf((t - 0.62) / 0.01) + erf(62.0))
    return np.sin(np.pi * x) * np.sin(np.pi * y) * np.exp(grown - 0.1 * np.pi**2 * t)
