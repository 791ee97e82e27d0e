"""A spot of width 0.01 in the unit square spreads to a width of 0.03."""

import numpy as np
from truths import heat_kernel

HARD = True
NEAR = (0.313, 0.677, 0.08)
PROBLEM = {
    "domain": {"kind": "rectangle", "x": [0, 1], "y": [0, 1]},
    "fields": {
        "u": {
            "initial": "exp(-((x - 0.313)^2 + (y - 0.677)^2)/1e-4)",
            "boundary": [{"kind": "neumann"}],
            "equation": [{"block": "diffusion", "coefficient": 2e-4}],
        }
    },
    "time": {"end": 1},
}


def exact(x, y, t):
    return heat_kernel(np.hypot(x - 0.313, y - 0.677), 0.01, 2e-4, t, 2)
