"""u = 0 at the start and for ever; a logistic reaction waits in vain."""

import numpy as np

PROBLEM = {
    "domain": {"kind": "disk", "radius": 1},
    "fields": {
        "u": {
            "initial": 0,
            "boundary": [{"kind": "dirichlet"}],
            "equation": [
                {"block": "diffusion"},
                {"block": "power", "coefficient": 3},
                {"block": "power", "p": 2, "coefficient": -3},
            ],
        }
    },
    "time": {"end": 1},
}


def exact(x, y, t):
    return np.zeros_like(x)
