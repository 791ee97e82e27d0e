"""Heat in a disk with a narrow slit, a sector of 355°: like r^0.507 at the tip."""

import numpy as np
from truths import polar, sector_bump

HARD = True
W = 355 * np.pi / 180
PROBLEM = {
    "domain": {"kind": "sector", "radius": 1, "angles": [-W / 2, W / 2]},
    "constants": {"w": W, "a": np.pi / W},
    "formulas": {"r": "sqrt(x^2 + y^2)"},
    "fields": {
        "u": {
            "initial": "r^a*(1 - r^2)*cos(a*atan2(y, x))",
            "boundary": [{"kind": "dirichlet"}],
            "equation": [{"block": "diffusion"}],
        }
    },
    "time": {"end": 0.1},
}


def exact(x, y, t):
    r, theta = polar(x, y)
    return sector_bump(np.pi / W, r, t) * np.cos(np.pi / W * theta)
