"""A spot of width 0.1 is carried around in a disk by a rigid rotation, twice, and hardly spreads."""

import numpy as np
from truths import heat_kernel

HARD = True
PROBLEM = {
    "domain": {"kind": "disk", "radius": 1},
    "fields": {
        "u": {
            "initial": "exp(-((x - 0.4)^2 + y^2)/0.01)",
            "boundary": [{"kind": "neumann"}],
            "equation": [
                {"block": "diffusion", "coefficient": 1e-4},
                {"block": "advection", "velocity": ["-y", "x"], "coefficient": "-4*pi"},
            ],
        }
    },
    "time": {"end": 1},
}


def exact(x, y, t):
    a = 4 * np.pi * t
    return heat_kernel(np.hypot(x - 0.4 * np.cos(a), y - 0.4 * np.sin(a)), 0.1, 1e-4, t, 2)
