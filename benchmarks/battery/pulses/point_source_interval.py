"""A steady source of width 0.003 in space: u nearly has a kink there."""

import numpy as np

HARD = True
S, W = 0.3117, 0.003
PROBLEM = {
    "domain": {"kind": "interval", "left": 0, "right": 1},
    "constants": {"s": S, "w": W},
    "fields": {
        "u": {
            "initial": 0,
            "boundary": [{"kind": "dirichlet"}],
            "equation": [{"block": "diffusion"}, {"block": "source", "value": "gauss((x - s)/w)/w"}],
        }
    },
    "time": {"end": 0.2},
}


def exact(x, t):
    """Sine series; the coefficients of the source are those of a Gaussian in all of space."""
    n = np.arange(1, 1500)
    rate = (n * np.pi) ** 2
    share = 2 * np.sqrt(np.pi) * np.exp(-rate * W**2 / 4) * np.sin(n * np.pi * S)
    return np.sin(np.pi * np.outer(x, n)) @ (share * -np.expm1(-rate * t) / rate)
