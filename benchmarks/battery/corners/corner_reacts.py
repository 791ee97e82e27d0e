"""Linear growth beside a re-entrant corner of 300°: the singular part grows by e³ instead of fading."""

import numpy as np
from truths import polar, sector_bump

HARD = True
W = 5 * np.pi / 3
PROBLEM = {
    "domain": {"kind": "sector", "radius": 1, "angles": [-W / 2, W / 2]},
    "constants": {"a": 0.6},
    "formulas": {"r": "sqrt(x^2 + y^2)"},
    "fields": {
        "u": {
            "initial": "r^a*(1 - r^2)*cos(a*atan2(y, x))",
            "boundary": [{"kind": "dirichlet"}],
            "equation": [{"block": "diffusion"}, {"block": "power", "coefficient": 16}],
        }
    },
    "time": {"end": 0.6},
}


def exact(x, y, t):
    r, theta = polar(x, y)
    return sector_bump(0.6, r, t) * np.cos(0.6 * theta) * np.exp(16 * t)
