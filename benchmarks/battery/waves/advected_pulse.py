"""A pulse of width 0.05 is carried along an interval at Péclet number 1e4 and leaves through its end."""

import numpy as np
from truths import heat_kernel

HARD = True
PROBLEM = {
    "domain": {"kind": "interval", "left": 0, "right": 1},
    "constants": {"D": 1e-4},
    "formulas": {"s": "0.0025 + 4*D*t", "truth": "sqrt(0.0025/s)*exp(-(x - 0.25 - t)^2/s)"},
    "fields": {
        "u": {
            "initial": "truth",
            "boundary": [{"kind": "dirichlet", "value": "truth"}],
            "equation": [
                {"block": "diffusion", "coefficient": "D"},
                {"block": "advection", "velocity": [1], "coefficient": -1},
            ],
        }
    },
    "time": {"end": 0.9},
}


def exact(x, t):
    return heat_kernel(np.abs(x - 0.25 - t), 0.05, 1e-4, t, 1)
