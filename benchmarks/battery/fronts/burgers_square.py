"""A Burgers front runs across a square along its diagonal."""

import numpy as np

HARD = True
PROBLEM = {
    "domain": {"kind": "rectangle", "x": [0, 1], "y": [0, 1]},
    "constants": {"nu": 0.02},
    "formulas": {"truth": "0.5 - 0.5*tanh(0.5*(x + y - 0.6 - t)/(2*nu))"},
    "fields": {
        "u": {
            "initial": "truth",
            "boundary": [{"kind": "dirichlet", "value": "truth"}],
            "equation": [
                {"block": "diffusion", "coefficient": "nu"},
                {"block": "transport", "direction": "x", "coefficient": -1},
                {"block": "transport", "direction": "y", "coefficient": -1},
            ],
        }
    },
    "time": {"end": 0.8},
}


def exact(x, y, t):
    return 0.5 - 0.5 * np.tanh(0.5 * (x + y - 0.6 - t) / 0.04)
