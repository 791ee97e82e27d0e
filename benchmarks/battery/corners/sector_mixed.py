"""Three quarters of a disk, one straight side held and the other insulated: like r^(1/3) at the tip."""

import numpy as np
from truths import polar, sector_bump

HARD = True
W = 3 * np.pi / 2
PROBLEM = {
    "domain": {"kind": "sector", "radius": 1, "angles": [-W / 2, W / 2]},
    "constants": {"w": W},
    "formulas": {"r": "sqrt(x^2 + y^2)"},
    "fields": {
        "u": {
            "initial": "r^(1/3)*(1 - r^2)*sin((atan2(y, x) + w/2)/3)",
            "boundary": [{"kind": "neumann", "where": "end"}, {"kind": "dirichlet", "where": "rest"}],
            "equation": [{"block": "diffusion"}],
        }
    },
    "time": {"end": 0.1},
}


def exact(x, y, t):
    r, theta = polar(x, y)
    return sector_bump(1 / 3, r, t) * np.sin((theta + W / 2) / 3)
