"""A spot of width 0.003 in an interval of length one, between all likely samples."""

import numpy as np
from truths import heat_kernel

HARD = True
NEAR = (0.4773, 0.05)
PROBLEM = {
    "domain": {"kind": "interval", "left": 0, "right": 1},
    "fields": {
        "u": {
            "initial": "gauss((x - 0.4773)/0.003)",
            "boundary": [{"kind": "dirichlet"}],
            "equation": [{"block": "diffusion", "coefficient": 1e-4}],
        }
    },
    "time": {"end": 1},
}


def exact(x, t):
    return heat_kernel(np.abs(x - 0.4773), 0.003, 1e-4, t, 1)
