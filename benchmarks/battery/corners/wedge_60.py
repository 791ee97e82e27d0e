"""Heat in a wedge of 60°, held at zero: the solution is r³ at the tip and as smooth as any."""

import numpy as np
from truths import polar, sector_bump

PROBLEM = {
    "domain": {"kind": "sector", "radius": 1, "angles": [0, np.pi / 3]},
    "formulas": {"r": "sqrt(x^2 + y^2)"},
    "fields": {
        "u": {
            "initial": "r^3*(1 - r^2)*sin(3*atan2(y, x))",
            "boundary": [{"kind": "dirichlet"}],
            "equation": [{"block": "diffusion"}],
        }
    },
    "time": {"end": 0.1},
}


def exact(x, y, t):
    r, theta = polar(x, y)
    return sector_bump(3, r, t) * np.sin(3 * theta)
