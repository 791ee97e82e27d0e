"""A pulse of width 0.03 on a string runs to both ends, is turned over there, and comes back."""

import numpy as np

HARD = True
PROBLEM = {
    "domain": {"kind": "interval", "left": 0, "right": 1},
    "fields": {
        "u": {
            "initial": "gauss((x - 0.4)/0.03)",
            "boundary": [{"kind": "dirichlet"}],
            "equation": [{"block": "power", "of": "v"}],
        },
        "v": {
            "initial": 0,
            "boundary": [{"kind": "dirichlet"}],
            "equation": [{"block": "diffusion", "of": "u"}],
        },
    },
    "time": {"end": 2},
}
W2 = 0.03**2


def odd(s, slope=False):
    """The odd, 2-periodic continuation of the pulse, or its derivative."""
    total = np.zeros_like(s)
    for k in range(-3, 4):
        for place, sign in ((0.4 + 2 * k, 1), (-0.4 + 2 * k, -1)):
            bump = sign * np.exp(-((s - place) ** 2) / W2)
            total += -2 * (s - place) / W2 * bump if slope else bump
    return total


def exact(x, t):
    return {"u": (odd(x + t) + odd(x - t)) / 2, "v": (odd(x + t, True) - odd(x - t, True)) / 2}
