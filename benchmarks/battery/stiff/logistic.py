"""Logistic growth from 0.01 in a polygon, the same everywhere."""

import numpy as np

PROBLEM = {
    "domain": {"kind": "polygon", "vertices": [[0, 0], [1, 0], [1.3, 0.8], [0.4, 1.1]]},
    "fields": {
        "u": {
            "initial": 0.01,
            "boundary": [{"kind": "neumann"}],
            "equation": [
                {"block": "diffusion"},
                {"block": "power", "coefficient": 2},
                {"block": "power", "p": 2, "coefficient": -2},
            ],
        }
    },
    "time": {"end": 5},
}


def exact(x, y, t):
    return np.full_like(x, 1 / (1 + 99 * np.exp(-2 * t)))
