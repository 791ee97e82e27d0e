"""A hot disk whose rim is suddenly cold."""

import numpy as np
from truths import cooling_disk

HARD = True
PROBLEM = {
    "domain": {"kind": "disk", "radius": 1},
    "fields": {"u": {"initial": 1, "boundary": [{"kind": "dirichlet"}], "equation": [{"block": "diffusion"}]}},
    "time": {"end": 0.1},
}


def exact(x, y, t):
    return cooling_disk(0, np.hypot(x, y), t)
