"""A wide warm spot beside a needle of width 0.004 that carries little of the heat but all of the height."""

import numpy as np
from truths import heat_kernel

HARD = True
NEAR = (0.7, 0.05)
PROBLEM = {
    "domain": {"kind": "interval", "left": -1, "right": 2},
    "fields": {
        "u": {
            "initial": "gauss((x - 0.3)/0.2) + 20*gauss((x - 0.7)/0.004)",
            "boundary": [{"kind": "dirichlet"}],
            "equation": [{"block": "diffusion", "coefficient": 1e-3}],
        }
    },
    "time": {"end": 1},
}


def exact(x, t):
    wide, needle = heat_kernel(np.abs(x - 0.3), 0.2, 1e-3, t, 1), heat_kernel(np.abs(x - 0.7), 0.004, 1e-3, t, 1)
    return wide + 20 * needle
