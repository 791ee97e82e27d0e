"""Twenty by fifteen half waves in a square."""

import numpy as np

PROBLEM = {
    "domain": {"kind": "rectangle", "x": [0, 1], "y": [0, 1]},
    "fields": {
        "u": {
            "initial": "cos(20*pi*x)*cos(15*pi*y)",
            "boundary": [{"kind": "neumann"}],
            "equation": [{"block": "diffusion", "coefficient": 1e-4}],
        }
    },
    "time": {"end": 1},
}


def exact(x, y, t):
    return np.cos(20 * np.pi * x) * np.cos(15 * np.pi * y) * np.exp(-0.0625 * np.pi**2 * t)
