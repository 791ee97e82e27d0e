"""Two fields that diffuse at different rates and feed on each other: a mode times the exponential of a matrix."""

import numpy as np
from scipy.linalg import expm

A = np.array([[-1.0, 2.0], [3.0, -0.5]])
PROBLEM = {
    "domain": {"kind": "rectangle", "x": [0, 1], "y": [0, 1]},
    "fields": {
        "u": {
            "initial": "cos(pi*x)*cos(pi*y)",
            "boundary": [{"kind": "neumann"}],
            "equation": [
                {"block": "diffusion", "coefficient": 0.1},
                {"block": "power", "coefficient": -1},
                {"block": "power", "of": "v", "coefficient": 2},
            ],
        },
        "v": {
            "initial": 0,
            "boundary": [{"kind": "neumann"}],
            "equation": [
                {"block": "diffusion", "coefficient": 0.01},
                {"block": "power", "coefficient": -0.5},
                {"block": "power", "of": "u", "coefficient": 3},
            ],
        },
    },
    "time": {"end": 2},
}


def exact(x, y, t):
    u, v = expm((A - 2 * np.pi**2 * np.diag([0.1, 0.01])) * t) @ [1, 0]
    mode = np.cos(np.pi * x) * np.cos(np.pi * y)
    return {"u": u * mode, "v": v * mode}
