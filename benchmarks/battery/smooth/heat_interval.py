"""Heat on an interval, the first mode."""

import numpy as np

PROBLEM = {
    "domain": {"kind": "interval", "left": 0, "right": 1},
    "fields": {
        "u": {"initial": "sin(pi*x)", "boundary": [{"kind": "dirichlet"}], "equation": [{"block": "diffusion"}]}
    },
    "time": {"end": 0.2},
}


def exact(x, t):
    return np.sin(np.pi * x) * np.exp(-(np.pi**2) * t)
