"""A field of size one drives a field of size 1e-9: both must be right relative to themselves."""

import numpy as np

HARD = True
PROBLEM = {
    "domain": {"kind": "interval", "left": 0, "right": 1},
    "fields": {
        "u": {"initial": "sin(pi*x)", "boundary": [{"kind": "dirichlet"}], "equation": [{"block": "diffusion"}]},
        "v": {
            "initial": 0,
            "boundary": [{"kind": "dirichlet"}],
            "equation": [
                {"block": "diffusion", "coefficient": 0.01},
                {"block": "power", "of": "u", "coefficient": 1e-9},
            ],
        },
    },
    "time": {"end": 1},
}


def exact(x, t):
    mode, a, b = np.sin(np.pi * x), np.pi**2, 0.01 * np.pi**2
    return {"u": mode * np.exp(-a * t), "v": 1e-9 * mode * (np.exp(-b * t) - np.exp(-a * t)) / (a - b)}
