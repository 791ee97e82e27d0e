"""Fisher's front runs across a square, thirty times thinner than it."""

import numpy as np

HARD = True
PROBLEM = {
    "domain": {"kind": "rectangle", "x": [0, 1], "y": [0, 1]},
    "constants": {"D": 1e-3, "r": 10},
    "formulas": {
        "s": "(3*x + 4*y)/5",
        "truth": "(1 + exp((s - 0.3 - 5*sqrt(r*D/6)*t)*sqrt(r/(6*D))))^(-2)",
    },
    "fields": {
        "u": {
            "initial": "truth",
            "boundary": [{"kind": "dirichlet", "value": "truth"}],
            "equation": [
                {"block": "diffusion", "coefficient": "D"},
                {"block": "power", "coefficient": "r"},
                {"block": "power", "p": 2, "coefficient": "-r"},
            ],
        }
    },
    "time": {"end": 1.5},
}


def exact(x, y, t):
    s = (3 * x + 4 * y) / 5
    return (1 + np.exp((s - 0.3 - 5 * np.sqrt(0.01 / 6) * t) * np.sqrt(10 / 0.006))) ** -2.0
