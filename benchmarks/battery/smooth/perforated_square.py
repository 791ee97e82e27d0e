"""A square with a round hole (a difference of domains), held outside, flux prescribed on the hole."""

import numpy as np

PROBLEM = {
    "domain": {
        "kind": "difference",
        "of": [
            {"kind": "rectangle", "x": [-1, 1], "y": [-1, 1]},
            {"kind": "disk", "radius": 0.4},
        ],
    },
    "fields": {
        "u": {
            "initial": "x*y",
            "boundary": [
                {"kind": "neumann", "where": "boundary", "value": "-5*x*y*cos(2*t)"},
                {"kind": "dirichlet", "where": "rest", "value": "x*y*cos(2*t)"},
            ],
            "equation": [{"block": "diffusion"}, {"block": "source", "value": "-2*x*y*sin(2*t)"}],
        }
    },
    "time": {"end": 2},
}


def exact(x, y, t):
    return x * y * np.cos(2 * t)
