"""A strip a thousand times longer than wide, held at zero: heat flows across it, the field varies along it."""

import numpy as np

HARD = True
PROBLEM = {
    "domain": {"kind": "rectangle", "x": [0, 1], "y": [0, 0.001]},
    "constants": {"D": 1e-6},
    "fields": {
        "u": {
            "initial": "sin(3*pi*x)*sin(1000*pi*y)",
            "boundary": [{"kind": "dirichlet"}],
            "equation": [{"block": "diffusion", "coefficient": "D"}],
        }
    },
    "time": {"end": 0.2},
}


def exact(x, y, t):
    return np.sin(3 * np.pi * x) * np.sin(1000 * np.pi * y) * np.exp(-1e-6 * (9 + 1e6) * np.pi**2 * t)
