"""A source of width 1e-4 in time at t = 0.377, between all saved times, in a square."""

import numpy as np
from scipy.special import erf

HARD = True
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


def kick(rate, t):
    """∫ 1e4 e^(−(τ − s)²/w²) e^(−rate (t − τ)) dτ from far below to t."""
    late = np.exp(-rate * (t - S) + (rate * W / 2) ** 2)
    return 1e4 * W * np.sqrt(np.pi) / 2 * late * (1 + erf((t - S) / W - rate * W / 2))


def exact(x, y, t):
    return kick(0.0, t) + kick(0.1 * np.pi**2, t) * np.cos(np.pi * x)
