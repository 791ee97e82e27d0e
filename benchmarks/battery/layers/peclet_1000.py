"""Wind towards a held wall at Péclet number 1000: a layer of width 0.001."""

import numpy as np

HARD = True
E = 0.001
NEAR = (1, 0.02)
PROBLEM = {
    "domain": {"kind": "interval", "left": 0, "right": 1},
    "constants": {"eps": E},
    "formulas": {"layer": "x - exp((x - 1)/eps)"},
    "fields": {
        "u": {
            "initial": "layer",
            "boundary": [{"kind": "dirichlet"}],
            "equation": [
                {"block": "diffusion", "coefficient": "eps"},
                {"block": "advection", "velocity": [1], "coefficient": -1},
                {"block": "source", "value": "layer + 1 + t"},
            ],
        }
    },
    "time": {"end": 1},
}


def exact(x, t):
    return (1 + t) * (x - np.exp((x - 1) / E))
