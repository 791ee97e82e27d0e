"""A source on a mode of an interval, on until t = 0.3."""

import numpy as np

PROBLEM = {
    "domain": {"kind": "interval", "left": 0, "right": 1},
    "fields": {
        "u": {
            "initial": 0,
            "boundary": [{"kind": "dirichlet"}],
            "equation": [{"block": "diffusion"}, {"block": "source", "value": "where(t < 0.3, sin(pi*x), 0)"}],
        }
    },
    "time": {"end": 0.6},
}


def exact(x, t):
    rate, on = np.pi**2, min(t, 0.3)
    return np.sin(np.pi * x) * (1 - np.exp(-rate * on)) / rate * np.exp(-rate * (t - on))
