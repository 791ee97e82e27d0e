"""A steep step, tanh of width 0.005, slides through an interval, driven by its source."""

import numpy as np

HARD = True
PROBLEM = {
    "domain": {"kind": "interval", "left": 0, "right": 1},
    "fields": {
        "u": {
            "exact": "tanh((x - 0.3 - 0.3*sin(2*t))/0.005)",
            "forcing": "manufactured",
            "boundary": [{"kind": "dirichlet", "data": "exact"}],
            "equation": [{"block": "diffusion", "coefficient": 0.01}],
        }
    },
    "time": {"end": 1},
}


def exact(x, t):
    return np.tanh((x - 0.3 - 0.3 * np.sin(2 * t)) / 0.005)
