"""A source of width 1e-4 in time at t = 0.377, between all saved times, in a square."""

import numpy as np
from truths import pulse_response

HARD = True
TIMES = (0.37697, 0.37703, 0.4)
S, W = 0.377, 1e-4
PROBLEM = {
    "domain": {"kind": "rectangle", "x": [0, 1], "y": [0, 1]},
    "constants": {"s": S, "w": W},
    "fields": {
        "u": {
            "initial": 0,
            "boundary": [{"kind": "neumann"}],
            "equation": [
                {"block": "diffusion", "coefficient": 0.1},
                {"block": "source", "value": "1e4*gauss((t - s)/w)*(1 + cos(pi*x))"},
            ],
        }
    },
    "time": {"end": 1},
}


def exact(x, y, t):
    along = pulse_response(0.1 * np.pi**2, t, S, W) * np.cos(np.pi * x)
    return 1e4 * (pulse_response(0.0, t, S, W) + along)
