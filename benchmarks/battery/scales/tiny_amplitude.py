"""A faint logistic population, 1e-9 at the start, that has not noticed its limits when the run ends."""

import numpy as np

HARD = True
PROBLEM = {
    "domain": {"kind": "rectangle", "x": [0, 1], "y": [0, 1]},
    "fields": {
        "u": {
            "initial": "1e-9*sin(pi*x)*sin(pi*y)",
            "boundary": [{"kind": "dirichlet"}],
            "equation": [
                {"block": "diffusion", "coefficient": 0.1},
                {"block": "power", "coefficient": 4},
                {"block": "power", "p": 2, "coefficient": -4},
            ],
        }
    },
    "time": {"end": 1},
}


def exact(x, y, t):
    return 1e-9 * np.sin(np.pi * x) * np.sin(np.pi * y) * np.exp((4 - 0.2 * np.pi**2) * t)
