"""Heat on an interval that leaks at both ends: cos(kx) with k tan k = κ."""

import numpy as np

K = 1.0768739863118036  # k tan k = 2
PROBLEM = {
    "domain": {"kind": "interval", "left": -1, "right": 1},
    "constants": {"k": K},
    "fields": {
        "u": {
            "initial": "cos(k*x)",
            "boundary": [{"kind": "robin", "kappa": 2}],
            "equation": [{"block": "diffusion"}],
        }
    },
    "time": {"end": 1},
}


def exact(x, t):
    return np.cos(K * x) * np.exp(-(K**2) * t)
