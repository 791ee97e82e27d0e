"""A source of width 0.02 in an insulated square warms it from one spot."""

import numpy as np

HARD = True
S, W = (0.31, 0.62), 0.02
NEAR = (*S, 0.1)
PROBLEM = {
    "domain": {"kind": "rectangle", "x": [0, 1], "y": [0, 1]},
    "constants": {"a": S[0], "b": S[1], "w": W},
    "fields": {
        "u": {
            "initial": 0,
            "boundary": [{"kind": "neumann"}],
            "equation": [{"block": "diffusion"}, {"block": "source", "value": "exp(-((x - a)^2 + (y - b)^2)/w^2)/w^2"}],
        }
    },
    "time": {"end": 0.1},
}


def exact(x, y, t):
    n = np.arange(150)
    decay = np.sqrt(np.pi) * np.exp(-((n * np.pi * W) ** 2) / 4) * np.where(n == 0, 1, 2)
    share = np.outer(decay * np.cos(n * np.pi * S[0]), decay * np.cos(n * np.pi * S[1]))
    rate = np.pi**2 * (n[:, None] ** 2 + n**2)
    fill = np.where(rate > 0, -np.expm1(-rate * t) / np.where(rate > 0, rate, 1), t)
    return np.einsum("np,nm,mp->p", np.cos(np.pi * np.outer(n, x)), share * fill, np.cos(np.pi * np.outer(n, y)))
