"""∇·((1 + x²) ∇u) in a rectangle, with the source that makes u = e^(−t) sin πx cos πy."""

import numpy as np

PROBLEM = {
    "domain": {"kind": "rectangle", "x": [0, 1], "y": [0, 1]},
    "formulas": {"D": "1 + x^2", "truth": "exp(-t)*sin(pi*x)*cos(pi*y)"},
    "fields": {
        "u": {
            "initial": "truth",
            "boundary": [
                {"kind": "dirichlet", "where": ["left", "right"]},
                {"kind": "neumann", "where": ["top", "bottom"]},
            ],
            "equation": [
                {"block": "variable-diffusion", "diffusivity": "D"},
                {"block": "source", "value": "(2*pi^2*D - 1)*truth - 2*x*pi*exp(-t)*cos(pi*x)*cos(pi*y)"},
            ],
        }
    },
    "time": {"end": 1},
}


def exact(x, y, t):
    return np.exp(-t) * np.sin(np.pi * x) * np.cos(np.pi * y)
