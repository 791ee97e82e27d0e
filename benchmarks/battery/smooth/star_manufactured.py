"""A five-pointed smooth star with a source and moving data."""

import numpy as np

PROBLEM = {
    "domain": {"kind": "polar", "radius": "1 + 0.2*cos(5*theta)"},
    "formulas": {"truth": "cos(2*x + t)*exp(y)"},
    "fields": {
        "u": {
            "initial": "truth",
            "boundary": [{"kind": "dirichlet", "value": "truth"}],
            "equation": [{"block": "diffusion"}, {"block": "source", "value": "-sin(2*x + t)*exp(y) + 3*truth"}],
        }
    },
    "time": {"end": 1},
}


def exact(x, y, t):
    return np.cos(2 * x + t) * np.exp(y)
