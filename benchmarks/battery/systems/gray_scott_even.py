"""Gray and Scott's kinetics, the same everywhere: the fields must follow the ordinary equations (Radau at 1e-12)."""

import numpy as np
from truths import kinetics

F, K = 0.04, 0.06
PROBLEM = {
    "domain": {"kind": "disk", "radius": 1},
    "constants": {"F": F, "k": K},
    "fields": {
        "u": {
            "initial": 0.5,
            "boundary": [{"kind": "neumann"}],
            "equation": [
                {"block": "diffusion", "coefficient": 2e-3},
                {"block": "product", "powers": {"u": 1, "v": 2}, "coefficient": -1},
                {"block": "constant", "coefficient": "F"},
                {"block": "power", "coefficient": "-F"},
            ],
        },
        "v": {
            "initial": 0.25,
            "boundary": [{"kind": "neumann"}],
            "equation": [
                {"block": "diffusion", "coefficient": 1e-3},
                {"block": "product", "powers": {"u": 1, "v": 2}},
                {"block": "power", "coefficient": "-F - k"},
            ],
        },
    },
    "time": {"end": 200},
}
PATH = kinetics(lambda t, z: [-z[0] * z[1] ** 2 + F * (1 - z[0]), z[0] * z[1] ** 2 - (F + K) * z[1]], [0.5, 0.25], 200)


def exact(x, y, t):
    u, v = PATH(t)
    return {"u": np.full_like(x, u), "v": np.full_like(x, v)}
