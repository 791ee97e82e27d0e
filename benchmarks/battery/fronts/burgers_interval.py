"""A Burgers front of width 0.02 runs through an interval: c − a tanh(a(x − ct)/2ν)."""

import numpy as np

HARD = True
PROBLEM = {
    "domain": {"kind": "interval", "left": 0, "right": 1},
    "constants": {"nu": 0.005},
    "formulas": {"truth": "0.6 - 0.5*tanh(0.5*(x - 0.2 - 0.6*t)/(2*nu))"},
    "fields": {
        "u": {
            "initial": "truth",
            "boundary": [{"kind": "dirichlet", "value": "truth"}],
            "equation": [
                {"block": "diffusion", "coefficient": "nu"},
                {"block": "transport", "direction": "x", "coefficient": -1},
            ],
        }
    },
    "time": {"end": 1},
}


def exact(x, t):
    return 0.6 - 0.5 * np.tanh(0.5 * (x - 0.2 - 0.6 * t) / 0.01)
