"""The singular function of an L-shape, r^(2/3) sin(2θ/3), that fades: a source and moving data keep it."""

import numpy as np

HARD = True
PROBLEM = {
    "domain": {"kind": "polygon", "vertices": [[-1, -1], [1, -1], [1, 1], [0, 1], [0, 0], [-1, 0]]},
    "formulas": {
        "theta": "atan2(x + y, x - y) + 3*pi/4",
        "shape": "(x^2 + y^2)^(1/3)*sin(2/3*theta)",
    },
    "fields": {
        "u": {
            "initial": "shape",
            "boundary": [{"kind": "dirichlet", "value": "exp(-t)*shape"}],
            "equation": [{"block": "diffusion"}, {"block": "source", "value": "-exp(-t)*shape"}],
        }
    },
    "time": {"end": 1},
}


def exact(x, y, t):
    theta = np.arctan2(x + y, x - y) + 3 * np.pi / 4
    return np.exp(-t) * np.hypot(x, y) ** (2 / 3) * np.sin(2 / 3 * theta)
