"""A hot spot of width 0.05 circles in a disk and leaves no trace: its source is what keeps it in shape."""

import numpy as np

HARD = True
PROBLEM = {
    "domain": {"kind": "disk", "radius": 1},
    "constants": {"w2": 0.0025, "D": 0.01},
    "formulas": {
        "p": "x - 0.5*cos(4*t)",
        "q": "y - 0.5*sin(4*t)",
        "r2": "p^2 + q^2",
        "spot": "exp(-r2/w2)",
        "rate": "2/w2*(-2*p*sin(4*t) + 2*q*cos(4*t))",
    },
    "fields": {
        "u": {
            "initial": "spot",
            "boundary": [{"kind": "neumann"}],
            "equation": [
                {"block": "diffusion", "coefficient": "D"},
                {"block": "source", "value": "spot*(rate - D*(4*r2/w2^2 - 4/w2))"},
            ],
        }
    },
    "time": {"end": 1},
}


def exact(x, y, t):
    return np.exp(-((x - 0.5 * np.cos(4 * t)) ** 2 + (y - 0.5 * np.sin(4 * t)) ** 2) / 0.0025)
