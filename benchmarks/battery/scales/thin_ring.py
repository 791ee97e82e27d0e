"""A ring of radius 1 and width 0.001: x fades, fed by its data and a source."""

import numpy as np

HARD = True
PROBLEM = {
    "domain": {"kind": "annulus", "outer": 1, "inner": 0.999},
    "fields": {
        "u": {
            "initial": "x",
            "boundary": [{"kind": "dirichlet", "value": "x*exp(-t)"}],
            "equation": [{"block": "diffusion"}, {"block": "source", "value": "-x*exp(-t)"}],
        }
    },
    "time": {"end": 1},
}


def exact(x, y, t):
    return x * np.exp(-t)
