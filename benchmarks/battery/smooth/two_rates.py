"""Two modes that fade at very different rates, 1 : 400, in an insulated square."""

import numpy as np

PROBLEM = {
    "domain": {"kind": "rectangle", "x": [0, 1], "y": [0, 1]},
    "fields": {
        "u": {
            "initial": "cos(pi*x) + cos(12*pi*x)*cos(16*pi*y)",
            "boundary": [{"kind": "neumann"}],
            "equation": [{"block": "diffusion", "coefficient": 0.02}],
        }
    },
    "time": {"end": 1},
}


def exact(x, y, t):
    slow, fast = np.exp(-0.02 * np.pi**2 * t), np.exp(-8 * np.pi**2 * t)
    return slow * np.cos(np.pi * x) + fast * np.cos(12 * np.pi * x) * np.cos(16 * np.pi * y)
