"""The Brusselator with A = 1, B = 8, the same everywhere: long rests and sudden jumps."""

import numpy as np
from truths import kinetics

HARD = True
PROBLEM = {
    "domain": {"kind": "interval", "left": 0, "right": 1},
    "fields": {
        "u": {
            "initial": 1,
            "boundary": [{"kind": "neumann"}],
            "equation": [
                {"block": "diffusion", "coefficient": 0.01},
                {"block": "constant"},
                {"block": "power", "coefficient": -9},
                {"block": "product", "powers": {"u": 2, "v": 1}},
            ],
        },
        "v": {
            "initial": 2,
            "boundary": [{"kind": "neumann"}],
            "equation": [
                {"block": "diffusion", "coefficient": 0.01},
                {"block": "power", "of": "u", "coefficient": 8},
                {"block": "product", "powers": {"u": 2, "v": 1}, "coefficient": -1},
            ],
        },
    },
    "time": {"end": 25},
}
PATH = kinetics(lambda t, z: [1 - 9 * z[0] + z[0] ** 2 * z[1], 8 * z[0] - z[0] ** 2 * z[1]], [1, 2], 25)


def exact(x, t):
    u, v = PATH(t)
    return {"u": np.full_like(x, u), "v": np.full_like(x, v)}
