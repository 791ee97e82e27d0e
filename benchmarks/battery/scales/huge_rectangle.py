"""A country in metres: 1,000 km wide, far from the origin, a hundred years in seconds, with drift."""

import numpy as np

PROBLEM = {
    "domain": {"kind": "rectangle", "x": [4e6, 5e6], "y": [5e6, 5.6e6]},
    "constants": {"D": 25, "w": 2e-4},
    "formulas": {"s": "1e10 + 4*D*t", "r2": "(x - 4.3e6 - w*t)^2 + (y - 5.3e6)^2", "truth": "1e10/s*exp(-r2/s)"},
    "fields": {
        "u": {
            "initial": "truth",
            "boundary": [{"kind": "dirichlet", "value": "truth"}],
            "equation": [
                {"block": "diffusion", "coefficient": "D"},
                {"block": "advection", "velocity": ["w", 0], "coefficient": -1},
            ],
        }
    },
    "time": {"end": 1e9},
}


def exact(x, y, t):
    s = 1e10 + 100 * t
    return 1e10 / s * np.exp(-((x - 4.3e6 - 2e-4 * t) ** 2 + (y - 5.3e6) ** 2) / s)
