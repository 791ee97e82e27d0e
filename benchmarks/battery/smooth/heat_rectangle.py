"""Heat in an insulated rectangle, one mode."""

import numpy as np

PROBLEM = {
    "domain": {"kind": "rectangle", "x": [0, 2], "y": [0, 1]},
    "fields": {
        "u": {
            "initial": "1 + cos(pi*x/2)*cos(2*pi*y)",
            "boundary": [{"kind": "neumann"}],
            "equation": [{"block": "diffusion", "coefficient": 0.1}],
        }
    },
    "time": {"end": 0.5},
}


def exact(x, y, t):
    return 1 + np.cos(np.pi * x / 2) * np.cos(2 * np.pi * y) * np.exp(-0.1 * np.pi**2 * 4.25 * t)
