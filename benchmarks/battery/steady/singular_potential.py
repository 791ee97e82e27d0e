"""A potential in three quarters of a disk, 0 = Δψ with data like r^(2/3) that fade, drives u, which is a multiple of it."""

import numpy as np
from truths import polar

HARD = True
W = 3 * np.pi / 2
PROBLEM = {
    "domain": {"kind": "sector", "radius": 1, "angles": [-W / 2, W / 2]},
    "formulas": {"shape": "(x^2 + y^2)^(1/3)*cos(2/3*atan2(y, x))"},
    "fields": {
        "u": {
            "initial": "shape",
            "boundary": [
                {"kind": "dirichlet", "where": "arc", "value": "shape*exp(-t)"},
                {"kind": "dirichlet", "where": "rest"},
            ],
            "equation": [{"block": "diffusion"}, {"block": "power", "of": "psi", "coefficient": -1}],
        },
        "psi": {
            "steady": True,
            "boundary": [
                {"kind": "dirichlet", "where": "arc", "value": "shape*exp(-t)"},
                {"kind": "dirichlet", "where": "rest"},
            ],
            "equation": [{"block": "diffusion"}],
        },
    },
    "time": {"end": 1},
}


def exact(x, y, t):
    r, theta = polar(x, y)
    shape = r ** (2 / 3) * np.cos(2 / 3 * theta) * np.exp(-t)
    return {"u": shape, "psi": shape}
