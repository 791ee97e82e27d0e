"""Diffusion against decay between two walls, layers of width 0.01 at both, and a mode that fades."""

import numpy as np

E = 0.01
PROBLEM = {
    "domain": {"kind": "interval", "left": 0, "right": 1},
    "constants": {"eps": E},
    "formulas": {"layer": "(exp(-x/eps) + exp((x - 1)/eps))/(1 + exp(-1/eps))"},
    "fields": {
        "u": {
            "initial": "layer + sin(2*pi*x)",
            "boundary": [{"kind": "dirichlet", "value": 1}],
            "equation": [{"block": "diffusion", "coefficient": "eps^2"}, {"block": "power", "coefficient": -1}],
        }
    },
    "time": {"end": 2},
}


def exact(x, t):
    layer = (np.exp(-x / E) + np.exp((x - 1) / E)) / (1 + np.exp(-1 / E))
    return layer + np.sin(2 * np.pi * x) * np.exp(-(1 + 4 * np.pi**2 * E**2) * t)
