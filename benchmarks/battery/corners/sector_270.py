"""Heat in three quarters of a disk, u = 0 around: r^(2/3) sin(2θ/3) (1 − r²) at the start, then a Bessel series."""

import numpy as np
from truths import polar, sector_bump

HARD = True
W = 3 * np.pi / 2
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
