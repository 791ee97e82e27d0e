"""Heat on an L-shape from a mode that does not feel its re-entrant corner."""

import numpy as np

PROBLEM = {
    "domain": {"kind": "polygon", "vertices": [[-1, -1], [1, -1], [1, 1], [0, 1], [0, 0], [-1, 0]]},
    "fields": {
        "u": {
            "initial": "sin(pi*x)*sin(pi*y)",
            "boundary": [{"kind": "dirichlet"}],
            "equation": [{"block": "diffusion"}],
        }
    },
    "time": {"end": 0.1},
}


def exact(x, y, t):
    return np.sin(np.pi * x) * np.sin(np.pi * y) * np.exp(-2 * np.pi**2 * t)
