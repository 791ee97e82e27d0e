"""Allen–Cahn kinetics from 1e-10: nothing can be seen until t = 1, then all goes from 0 to 1 within 0.1."""

import numpy as np

HARD = True
PROBLEM = {
    "domain": {"kind": "rectangle", "x": [0, 1], "y": [0, 1]},
    "fields": {
        "u": {
            "initial": 1e-10,
            "boundary": [{"kind": "neumann"}],
            "equation": [
                {"block": "diffusion"},
                {"block": "power", "coefficient": 20},
                {"block": "power", "p": 3, "coefficient": -20},
            ],
        }
    },
    "time": {"end": 2},
}


def exact(x, y, t):
    return np.full_like(x, 1 / np.sqrt(1 + (1e20 - 1) * np.exp(-40 * t)))
