"""Small variations on a large value: a million plus a mode of size one."""

import numpy as np

PROBLEM = {
    "domain": {"kind": "interval", "left": 0, "right": 1},
    "fields": {
        "u": {
            "initial": "1e6 + sin(3*pi*x)",
            "boundary": [{"kind": "dirichlet", "value": 1e6}],
            "equation": [{"block": "diffusion"}],
        }
    },
    "time": {"end": 0.05},
}


def exact(x, t):
    return 1e6 + np.sin(3 * np.pi * x) * np.exp(-9 * np.pi**2 * t)
