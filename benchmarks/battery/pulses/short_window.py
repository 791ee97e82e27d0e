"""A source that is on for a thousandth of the run, 0.5123 < t < 0.5133, and makes all there is."""

import numpy as np

HARD = True
TIMES = (0.5, 0.5128, 0.52)
PROBLEM = {
    "domain": {"kind": "interval", "left": 0, "right": 1},
    "fields": {
        "u": {
            "initial": 0,
            "boundary": [{"kind": "dirichlet"}],
            "equation": [
                {"block": "diffusion", "coefficient": 0.2},
                {"block": "source", "value": "where(0.5123 < t < 0.5133, 1000, 0)*sin(2*pi*x)"},
            ],
        }
    },
    "time": {"end": 1},
}


def exact(x, t):
    rate, on = 0.8 * np.pi**2, min(max(t - 0.5123, 0), 0.001)
    return np.sin(2 * np.pi * x) * 1000 * (1 - np.exp(-rate * on)) / rate * np.exp(-rate * max(t - 0.5133, 0))
