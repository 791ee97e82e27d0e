"""Decay at every point by its own rate, u_t = −(1 + 50x²)u, without any derivative or condition."""

import numpy as np

PROBLEM = {
    "domain": {"kind": "disk", "radius": 1},
    "fields": {
        "u": {
            "initial": "1 + y",
            "boundary": [{"kind": "free"}],
            "equation": [{"block": "power", "coefficient": "-(1 + 50*x^2)"}],
        }
    },
    "time": {"end": 1},
}


def exact(x, y, t):
    return (1 + y) * np.exp(-(1 + 50 * x**2) * t)
