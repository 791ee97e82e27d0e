"""A cold disk whose upper rim is suddenly at 1 and whose lower rim is at −1: data jump in space and at the start."""

import numpy as np
from truths import cooling_disk, polar

HARD = True
PROBLEM = {
    "domain": {"kind": "disk", "radius": 1},
    "fields": {
        "u": {
            "initial": 0,
            "boundary": [{"kind": "dirichlet", "value": "where(y > 0, 1, -1)"}],
            "equation": [{"block": "diffusion"}],
        }
    },
    "time": {"end": 0.2},
}


def exact(x, y, t):
    if t == 0:
        return np.zeros_like(x)
    r, theta = polar(x, y)
    steady = 2 / np.pi * np.arctan2(2 * y, 1 - r**2)
    return steady - sum(4 / (np.pi * m) * np.sin(m * theta) * cooling_disk(m, r, t, 40) for m in range(1, 60, 2))


def EXCLUDE(x, y):
    return np.hypot(np.abs(x) - 1, y) < 1e-3
