"""An interval whose right end is moved up and down: u = x sin 3t + a mode."""

import numpy as np

PROBLEM = {
    "domain": {"kind": "interval", "left": 0, "right": 1},
    "fields": {
        "u": {
            "initial": "sin(2*pi*x)",
            "boundary": [
                {"kind": "dirichlet", "where": "left"},
                {"kind": "dirichlet", "where": "right", "value": "sin(3*t)"},
            ],
            "equation": [
                {"block": "diffusion", "coefficient": 0.1},
                {"block": "source", "value": "3*x*cos(3*t)"},
            ],
        }
    },
    "time": {"end": 2},
}


def exact(x, t):
    return x * np.sin(3 * t) + np.sin(2 * np.pi * x) * np.exp(-0.4 * np.pi**2 * t)
