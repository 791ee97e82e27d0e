"""Nothing happens: u = 3 is kept by diffusion, transport and every condition, on a polygon."""

import numpy as np

PROBLEM = {
    "domain": {
        "kind": "polygon",
        "vertices": [[0, 0], [1, 0], [1.3, 0.8], [0.4, 1.1]],
        "segments": {"floor": [0, 0], "wall": [1, 1]},
    },
    "fields": {
        "u": {
            "initial": 3,
            "boundary": [
                {"kind": "dirichlet", "where": "floor", "value": 3},
                {"kind": "robin", "where": "wall", "kappa": 2, "value": 6},
                {"kind": "neumann", "where": "rest"},
            ],
            "equation": [{"block": "diffusion"}, {"block": "advection", "velocity": ["y", "-x"], "coefficient": -1}],
        }
    },
    "time": {"end": 1},
}


def exact(x, y, t):
    return np.full_like(x, 3.0)
