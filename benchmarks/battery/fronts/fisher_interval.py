"""Fisher's front in the closed form of Ablowitz and Zeppetella, from its own shape."""

import numpy as np

PROBLEM = {
    "domain": {"kind": "interval", "left": 0, "right": 30},
    "formulas": {"truth": "(1 + exp((x - 5 - 5/sqrt(6)*t)/sqrt(6)))^(-2)"},
    "fields": {
        "u": {
            "initial": "truth",
            "boundary": [{"kind": "dirichlet", "value": "truth"}],
            "equation": [{"block": "diffusion"}, {"block": "power"}, {"block": "power", "p": 2, "coefficient": -1}],
        }
    },
    "time": {"end": 8},
}


def exact(x, t):
    return (1 + np.exp((x - 5 - 5 / np.sqrt(6) * t) / np.sqrt(6))) ** -2.0
