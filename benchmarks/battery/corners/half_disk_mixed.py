"""A half disk whose straight side is held on one half and insulated on the other: like r^(1/2) where they meet."""

import numpy as np
from truths import polar, sector_bump

HARD = True
PROBLEM = {
    "domain": {"kind": "sector", "radius": 1, "angles": [0, np.pi]},
    "formulas": {"r": "sqrt(x^2 + y^2)"},
    "fields": {
        "u": {
            "initial": "sqrt(r)*(1 - r^2)*sin(atan2(abs(y), x)/2)",
            "boundary": [{"kind": "neumann", "where": "end"}, {"kind": "dirichlet", "where": "rest"}],
            "equation": [{"block": "diffusion"}],
        }
    },
    "time": {"end": 0.1},
}


def exact(x, y, t):
    r, theta = polar(x, np.abs(y))
    return sector_bump(0.5, r, t) * np.sin(theta / 2)
