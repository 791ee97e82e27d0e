"""A diffusivity that swings, 1 + 0.9 sin 20t: the mode fades in steps."""

import numpy as np

PROBLEM = {
    "domain": {"kind": "rectangle", "x": [0, 1], "y": [0, 1]},
    "fields": {
        "u": {
            "initial": "cos(pi*x)*cos(pi*y)",
            "boundary": [{"kind": "neumann"}],
            "equation": [{"block": "diffusion", "coefficient": "0.1*(1 + 0.9*sin(20*t))"}],
        }
    },
    "time": {"end": 1},
}


def exact(x, y, t):
    total = 0.1 * (t + 0.9 * (1 - np.cos(20 * t)) / 20)
    return np.cos(np.pi * x) * np.cos(np.pi * y) * np.exp(-2 * np.pi**2 * total)
