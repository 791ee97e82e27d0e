"""A source cos 300t on a mode: two and a half periods between saved times."""

import numpy as np

PROBLEM = {
    "domain": {"kind": "disk", "radius": 1},
    "constants": {"j": 2.404825557695773},
    "fields": {
        "u": {
            "initial": 0,
            "boundary": [{"kind": "dirichlet"}],
            "equation": [
                {"block": "diffusion"},
                {"block": "source", "value": "cos(300*t)*besselj0(j*sqrt(x^2 + y^2))"},
            ],
        }
    },
    "time": {"end": 1},
}


def exact(x, y, t):
    from scipy.special import j0

    rate = 2.404825557695773**2
    swing = rate * np.cos(300 * t) + 300 * np.sin(300 * t) - rate * np.exp(-rate * t)
    return swing / (rate**2 + 300**2) * j0(2.404825557695773 * np.hypot(x, y))
