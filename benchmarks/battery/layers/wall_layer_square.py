"""Wind along x at Péclet number 100 in a square, a layer at the wall x = 1."""

import numpy as np

HARD = True
E = 0.01
PROBLEM = {
    "domain": {"kind": "rectangle", "x": [0, 1], "y": [0, 1]},
    "constants": {"eps": E},
    "formulas": {"layer": "x - (exp((x - 1)/eps) - exp(-1/eps))/(1 - exp(-1/eps))"},
    "fields": {
        "u": {
            "initial": "layer*sin(pi*y)",
            "boundary": [{"kind": "dirichlet"}],
            "equation": [
                {"block": "diffusion", "coefficient": "eps"},
                {"block": "advection", "velocity": [1, 0], "coefficient": -1},
                {"block": "source", "value": "sin(pi*y)*(layer + (1 + t)*(eps*pi^2*layer + 1))"},
            ],
        }
    },
    "time": {"end": 1},
}


def exact(x, y, t):
    return (1 + t) * (x - (np.exp((x - 1) / E) - np.exp(-1 / E)) / (1 - np.exp(-1 / E))) * np.sin(np.pi * y)
