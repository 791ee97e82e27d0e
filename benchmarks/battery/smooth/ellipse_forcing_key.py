"""Cubic reaction on a turned ellipse, with the keys `exact` and `forcing`."""

import numpy as np

PROBLEM = {
    "domain": {"kind": "ellipse", "a": 1, "b": 0.4, "angle": 0.5},
    "fields": {
        "u": {
            "exact": "sin(3*x - 2*t)*cos(2*y) + 0.2",
            "forcing": "manufactured",
            "boundary": [{"kind": "neumann", "data": "exact"}],
            "equation": [
                {"block": "diffusion", "coefficient": 0.05},
                {"block": "power"},
                {"block": "power", "p": 3, "coefficient": -1},
            ],
        }
    },
    "time": {"end": 1},
}


def exact(x, y, t):
    return np.sin(3 * x - 2 * t) * np.cos(2 * y) + 0.2
