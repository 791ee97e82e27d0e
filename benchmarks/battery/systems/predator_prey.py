"""Lotka and Volterra's cycle, the same everywhere, five times around."""

import numpy as np
from truths import kinetics

PROBLEM = {
    "domain": {"kind": "rectangle", "x": [0, 1], "y": [0, 1]},
    "fields": {
        "u": {
            "initial": 3,
            "boundary": [{"kind": "neumann"}],
            "equation": [
                {"block": "diffusion"},
                {"block": "power"},
                {"block": "product", "powers": {"u": 1, "v": 1}, "coefficient": -1},
            ],
        },
        "v": {
            "initial": 1,
            "boundary": [{"kind": "neumann"}],
            "equation": [
                {"block": "diffusion", "coefficient": 0.1},
                {"block": "product", "powers": {"u": 1, "v": 1}},
                {"block": "power", "coefficient": -1},
            ],
        },
    },
    "time": {"end": 35},
}
PATH = kinetics(lambda t, z: [z[0] - z[0] * z[1], z[0] * z[1] - z[1]], [3, 1], 35)


def exact(x, y, t):
    u, v = PATH(t)
    return {"u": np.full_like(x, u), "v": np.full_like(x, v)}
