"""u_t = Δu + u², the same everywhere: 1/(1 − t) until t = 0.999, from 1 to 1000."""

import numpy as np

HARD = True
PROBLEM = {
    "domain": {"kind": "interval", "left": 0, "right": 1},
    "fields": {
        "u": {
            "initial": 1,
            "boundary": [{"kind": "neumann"}],
            "equation": [{"block": "diffusion"}, {"block": "power", "p": 2}],
        }
    },
    "time": {"end": 0.999},
}


def exact(x, t):
    return np.full_like(x, 1 / (1 - t))
