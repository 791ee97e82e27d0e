"""A rectangle with three insulated sides and one that is held: a quarter wave, smooth at right angles."""

import numpy as np

PROBLEM = {
    "domain": {"kind": "rectangle", "x": [0, 1], "y": [0, 1]},
    "fields": {
        "u": {
            "initial": "sin(pi*x/2)*cos(pi*y)",
            "boundary": [{"kind": "dirichlet", "where": "left"}, {"kind": "neumann", "where": "rest"}],
            "equation": [{"block": "diffusion"}],
        }
    },
    "time": {"end": 0.2},
}


def exact(x, y, t):
    return np.sin(np.pi * x / 2) * np.cos(np.pi * y) * np.exp(-1.25 * np.pi**2 * t)
