"""Two separate disks in one problem: nothing may pass from one, u = 1, to the other, u = 2."""

import numpy as np

HARD = True
PROBLEM = {
    "domain": {
        "kind": "union",
        "of": [
            {"kind": "disk", "radius": 0.5, "centre": [-0.6, 0]},
            {"kind": "disk", "radius": 0.5, "centre": [0.6, 0]},
        ],
    },
    "fields": {
        "u": {
            "initial": "where(x < 0, 1, 2)",
            "boundary": [{"kind": "neumann"}],
            "equation": [{"block": "diffusion"}],
        }
    },
    "time": {"end": 5},
}


def exact(x, y, t):
    return np.where(x < 0, 1.0, 2.0)
