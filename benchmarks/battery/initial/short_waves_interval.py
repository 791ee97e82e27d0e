"""Forty half waves on an interval, at rest at its ends."""

import numpy as np

PROBLEM = {
    "domain": {"kind": "interval", "left": 0, "right": np.pi},
    "fields": {
        "u": {
            "initial": "cos(40*x)",
            "boundary": [{"kind": "neumann"}],
            "equation": [{"block": "diffusion", "coefficient": 1e-3}],
        }
    },
    "time": {"end": 1},
}


def exact(x, t):
    return np.cos(40 * x) * np.exp(-1.6 * t)
