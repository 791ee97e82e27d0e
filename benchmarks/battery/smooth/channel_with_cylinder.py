"""A channel around a cylinder with a smooth wave that travels through: Dirichlet data on five segments."""

import numpy as np

PROBLEM = {
    "domain": {"kind": "cylinder-channel"},
    "formulas": {"p": "6*x - 2*t", "truth": "sin(p)*cos(4*y)"},
    "fields": {
        "u": {
            "initial": "truth",
            "boundary": [{"kind": "dirichlet", "value": "truth"}],
            "equation": [
                {"block": "diffusion", "coefficient": 0.01},
                {"block": "source", "value": "-2*cos(p)*cos(4*y) + 0.52*truth"},
            ],
        }
    },
    "time": {"end": 1},
}


def exact(x, y, t):
    return np.sin(6 * x - 2 * t) * np.cos(4 * y)
