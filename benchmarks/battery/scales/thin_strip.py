"""A strip a thousand times longer than wide, insulated: the slowest mode along it."""

import numpy as np

HARD = True
PROBLEM = {
    "domain": {"kind": "rectangle", "x": [0, 1], "y": [0, 0.001]},
    "fields": {"u": {"initial": "cos(pi*x)", "boundary": [{"kind": "neumann"}], "equation": [{"block": "diffusion"}]}},
    "time": {"end": 0.1},
}


def exact(x, y, t):
    return np.cos(np.pi * x) * np.exp(-(np.pi**2) * t)
