"""Allen–Cahn with a drift: a tanh front of width 0.06 is carried across a square without changing its shape."""

import numpy as np

HARD = True
PROBLEM = {
    "domain": {"kind": "rectangle", "x": [0, 1], "y": [0, 1]},
    "constants": {"eps2": 4e-4},
    "formulas": {"truth": "tanh((x - 0.3 - 0.4*t)/sqrt(2*eps2))"},
    "fields": {
        "u": {
            "initial": "truth",
            "boundary": [{"kind": "dirichlet", "value": "truth"}],
            "equation": [
                {"block": "diffusion", "coefficient": "eps2"},
                {"block": "advection", "velocity": [0.4, 0], "coefficient": -1},
                {"block": "power"},
                {"block": "power", "p": 3, "coefficient": -1},
            ],
        }
    },
    "time": {"end": 1},
}


def exact(x, y, t):
    return np.tanh((x - 0.3 - 0.4 * t) / np.sqrt(8e-4))
