"""Transport without diffusion: a spot of width 0.15 turns once in a disk and must come back as it was."""

import numpy as np

HARD = True
PROBLEM = {
    "domain": {"kind": "disk", "radius": 1},
    "fields": {
        "u": {
            "initial": "exp(-((x - 0.4)^2 + y^2)/0.0225)",
            "boundary": [{"kind": "free"}],
            "equation": [{"block": "advection", "velocity": ["-y", "x"], "coefficient": "-2*pi"}],
        }
    },
    "time": {"end": 1},
}


def exact(x, y, t):
    a = 2 * np.pi * t
    return np.exp(-((x - 0.4 * np.cos(a)) ** 2 + (y - 0.4 * np.sin(a)) ** 2) / 0.0225)
