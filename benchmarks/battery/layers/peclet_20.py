"""Wind towards a held wall at Péclet number 20: a layer of width 0.05, with a source, that grows."""

import numpy as np

E = 0.05
PROBLEM = {
    "domain": {"kind": "interval", "left": 0, "right": 1},
    "constants": {"eps": E},
    "formulas": {"layer": "x - (exp((x - 1)/eps) - exp(-1/eps))/(1 - exp(-1/eps))"},
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
    return (1 + t) * (x - (np.exp((x - 1) / E) - np.exp(-1 / E)) / (1 - np.exp(-1 / E)))
