"""Relaxation at rate 1e4 to a moving target, u_t = Δu − 1e4 (u − g cos t) + …: slow after a sudden start."""

import numpy as np

HARD = True
L = 1e4
PROBLEM = {
    "domain": {"kind": "interval", "left": 0, "right": 1},
    "constants": {"L": L},
    "fields": {
        "u": {
            "initial": 0,
            "boundary": [{"kind": "neumann"}],
            "equation": [
                {"block": "diffusion"},
                {"block": "power", "coefficient": "-L"},
                {"block": "source", "value": "L*cos(t)*(1 + cos(pi*x))"},
            ],
        }
    },
    "time": {"end": 5},
}


def exact(x, t):
    def forced(rate):
        return L * (rate * np.cos(t) + np.sin(t) - rate * np.exp(-rate * t)) / (rate**2 + 1)

    return forced(L) + forced(L + np.pi**2) * np.cos(np.pi * x)
