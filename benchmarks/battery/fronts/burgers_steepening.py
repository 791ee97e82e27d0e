"""A smooth wave steepens into a layer of width 0.02 in the middle of the interval: Cole's formula, by Gauss–Hermite."""

import numpy as np

HARD = True
NU = 0.01
PROBLEM = {
    "domain": {"kind": "interval", "left": -1, "right": 1},
    "fields": {
        "u": {
            "initial": "-sin(pi*x)",
            "boundary": [{"kind": "dirichlet"}],
            "equation": [
                {"block": "diffusion", "coefficient": NU},
                {"block": "transport", "direction": "x", "coefficient": -1},
            ],
        }
    },
    "time": {"end": 1},
}


def exact(x, t):
    """u = −∫ sin(πη) f e^(−s²) ds / ∫ f e^(−s²) ds at η = x − √(4νt) s, f = exp(−cos(πη)/(2πν))."""
    s, w = np.polynomial.hermite.hermgauss(180)
    eta = x[:, None] - np.sqrt(4 * NU * t) * s
    weight = np.exp(-(np.cos(np.pi * eta) + 1) / (2 * np.pi * NU)) * w
    total = weight.sum(axis=1)
    if t == 0:
        return -np.sin(np.pi * x)
    return -(weight * np.sin(np.pi * eta)).sum(axis=1) / total
