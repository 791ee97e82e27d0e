"""A front of width 0.01 waits outside and enters the interval half way through the run: nothing of it is seen at the start."""

import numpy as np

HARD = True
PROBLEM = {
    "domain": {"kind": "interval", "left": 0, "right": 1},
    "constants": {"nu": 0.0025},
    "formulas": {"truth": "1 - tanh((x + 0.5 - t)/(2*nu))"},
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
    return 1 - np.tanh((x + 0.5 - t) / 0.005)
