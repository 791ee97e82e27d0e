"""A square with a triangular hole. The solution is smooth although the hole has re-entrant corners."""

import numpy as np

PROBLEM = {
    "domain": {
        "kind": "polygon",
        "vertices": [[0, 0], [2, 0], [2, 2], [0, 2]],
        "holes": [[[0.5, 0.5], [1, 0.5], [1, 1]]],
    },
    "fields": {
        "u": {
            "initial": "sin(x + 2*y)",
            "boundary": [{"kind": "dirichlet", "value": "sin(x + 2*y - t)"}],
            "equation": [
                {"block": "diffusion", "coefficient": 0.2},
                {"block": "source", "value": "-cos(x + 2*y - t) + sin(x + 2*y - t)"},
            ],
        }
    },
    "time": {"end": 1},
}


def exact(x, y, t):
    return np.sin(x + 2 * y - t)
