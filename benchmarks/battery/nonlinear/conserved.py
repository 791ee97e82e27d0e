"""A reaction that keeps the mean, r(u) = 12u: the mean 2 stays, a mode about it grows."""

import numpy as np

PROBLEM = {
    "domain": {"kind": "rectangle", "x": [0, 1], "y": [0, 1]},
    "fields": {
        "u": {
            "initial": "2 + 0.1*cos(pi*x)",
            "boundary": [{"kind": "neumann"}],
            "equation": [{"block": "diffusion"}, {"block": "conserved-reaction", "rate": "12*u"}],
        }
    },
    "time": {"end": 1},
}


def exact(x, y, t):
    return 2 + 0.1 * np.cos(np.pi * x) * np.exp((12 - np.pi**2) * t)
