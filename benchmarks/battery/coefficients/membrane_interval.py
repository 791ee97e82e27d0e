"""A membrane of width 0.005 that hardly conducts: 1/D = 1 + 1000 w²/((x − a)² + w²). What it lets through is ∫dx/D, of which D
itself, small there, hardly shows anything."""

import numpy as np

HARD = True
A, W, PLACE = 1000.0, 0.005, 0.4
PROBLEM = {
    "domain": {"kind": "interval", "left": 0, "right": 1},
    "constants": {"A": A, "w": W, "a": PLACE},
    "fields": {
        "u": {
            "initial": "1 - x",
            "boundary": [{"kind": "dirichlet", "value": "1 - x"}],
            "equation": [{"block": "variable-diffusion", "diffusivity": "1/(1 + A*w^2/((x - a)^2 + w^2))"}],
        }
    },
    "time": {"end": 200},
    "output": {"frames": 1},
}


def resistance(x):
    return x + A * W * (np.arctan((x - PLACE) / W) + np.arctan(PLACE / W))


def exact(x, t):
    return 1 - x if t == 0 else 1 - resistance(x) / resistance(1.0)
