"""A hundred and twenty half waves on an interval: a sampling with fewer than that sees another wave."""

import numpy as np

HARD = True
PROBLEM = {
    "domain": {"kind": "interval", "left": 0, "right": 1},
    "fields": {
        "u": {
            "initial": "sin(120*pi*x)",
            "boundary": [{"kind": "dirichlet"}],
            "equation": [{"block": "diffusion", "coefficient": 1e-5}],
        }
    },
    "time": {"end": 1},
}


def exact(x, t):
    return np.sin(120 * np.pi * x) * np.exp(-0.144 * np.pi**2 * t)
