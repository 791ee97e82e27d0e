"""A warm spot drifts across a square and spreads, as if the square had no walls: moving Dirichlet data."""

import numpy as np

PROBLEM = {
    "domain": {"kind": "rectangle", "x": [0, 1], "y": [0, 1]},
    "constants": {"D": 0.01},
    "formulas": {
        "s": "0.04 + 4*D*t",
        "truth": "0.04/s*exp(-((x - 0.3 - 0.4*t)^2 + (y - 0.6 + 0.2*t)^2)/s)",
    },
    "fields": {
        "u": {
            "initial": "truth",
            "boundary": [{"kind": "dirichlet", "value": "truth"}],
            "equation": [
                {"block": "diffusion", "coefficient": "D"},
                {"block": "advection", "velocity": [0.4, -0.2], "coefficient": -1},
            ],
        }
    },
    "time": {"end": 1},
}


def exact(x, y, t):
    s = 0.04 + 0.04 * t
    return 0.04 / s * np.exp(-((x - 0.3 - 0.4 * t) ** 2 + (y - 0.6 + 0.2 * t) ** 2) / s)
