"""A cold square with one side suddenly hot and three kept cold: data jump in two corners and at the start."""

import numpy as np

HARD = True
PROBLEM = {
    "domain": {"kind": "rectangle", "x": [0, 1], "y": [0, 1]},
    "fields": {
        "u": {
            "initial": 0,
            "boundary": [{"kind": "dirichlet", "where": "left", "value": 1}, {"kind": "dirichlet", "where": "rest"}],
            "equation": [{"block": "diffusion"}],
        }
    },
    "time": {"end": 0.1},
}


def exact(x, y, t):
    """A steady part by images of a half strip, less a double sine series that fades."""
    if t == 0:
        return np.zeros_like(x)

    def strip(s):
        return 2 / np.pi * np.arctan2(np.sin(np.pi * y), np.sinh(np.pi * s))

    steady = sum(strip(x + 2 * k) - strip(2 - x + 2 * k) for k in range(6))
    n, m = np.arange(1, 200), np.arange(1, 200, 2)
    weight = 8 * n[:, None] / (np.pi**2 * m * (n[:, None] ** 2 + m**2))
    weight = weight * np.exp(-(np.pi**2) * (n[:, None] ** 2 + m**2) * t)
    return steady - np.einsum("np,nm,mp->p", np.sin(np.pi * np.outer(n, x)), weight, np.sin(np.pi * np.outer(m, y)))


def EXCLUDE(x, y):
    return (x < 1e-3) & (np.minimum(y, 1 - y) < 1e-3)
