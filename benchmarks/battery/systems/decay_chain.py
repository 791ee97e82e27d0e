"""A decays to B decays to C at rates 5000, 1 and 0, while all diffuse: stiff and three fields."""

import numpy as np
from scipy.linalg import expm

HARD = True
A = np.array([[-5000.0, 0, 0], [5000.0, -1, 0], [0, 1.0, 0]])
PROBLEM = {
    "domain": {"kind": "interval", "left": 0, "right": 1},
    "fields": {
        "a": {
            "initial": "1 + cos(pi*x)",
            "boundary": [{"kind": "neumann"}],
            "equation": [{"block": "diffusion", "coefficient": 0.1}, {"block": "power", "coefficient": -5000}],
        },
        "b": {
            "initial": 0,
            "boundary": [{"kind": "neumann"}],
            "equation": [
                {"block": "diffusion", "coefficient": 0.1},
                {"block": "power", "of": "a", "coefficient": 5000},
                {"block": "power", "coefficient": -1},
            ],
        },
        "c": {
            "initial": 0,
            "boundary": [{"kind": "neumann"}],
            "equation": [{"block": "diffusion", "coefficient": 0.1}, {"block": "power", "of": "b"}],
        },
    },
    "time": {"end": 2},
}


def exact(x, t):
    share = expm(A * t) @ [1, 0, 0]
    return {n: s * (1 + np.cos(np.pi * x) * np.exp(-0.1 * np.pi**2 * t)) for n, s in zip("abc", share, strict=True)}
