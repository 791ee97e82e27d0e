"""A source that is switched off at t = 0.3, a third of the way between two saved times of a coarser run."""

import numpy as np

HARD = True
PROBLEM = {
    "domain": {"kind": "disk", "radius": 1},
    "fields": {
        "u": {
            "initial": 0,
            "boundary": [{"kind": "neumann"}],
            "equation": [{"block": "diffusion"}, {"block": "source", "value": "where(t < 0.317, 1, 0) - 0.5*u0"}],
        }
    },
    "formulas": {"u0": "where(t < 0.317, 0, 1)*(t - 0.317)"},
    "time": {"end": 1},
}


def exact(x, y, t):
    late = max(t - 0.317, 0.0)
    return np.full_like(x, min(t, 0.317) - late**2 / 4)
