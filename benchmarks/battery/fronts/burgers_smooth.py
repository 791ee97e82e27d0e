"""Burgers from Cole and Hopf, −2ν φ_x/φ with φ = 2 + cos(πx) e^(−νπ²t): smooth all the time."""

import numpy as np

PROBLEM = {
    "domain": {"kind": "interval", "left": 0, "right": 1},
    "constants": {"nu": 0.1},
    "fields": {
        "u": {
            "initial": "2*nu*pi*sin(pi*x)/(2 + cos(pi*x))",
            "boundary": [{"kind": "dirichlet"}],
            "equation": [
                {"block": "diffusion", "coefficient": "nu"},
                {"block": "transport", "direction": "x", "coefficient": -1},
            ],
        }
    },
    "time": {"end": 1},
}


def exact(x, t):
    fade = np.exp(-0.1 * np.pi**2 * t)
    return 0.2 * np.pi * fade * np.sin(np.pi * x) / (2 + fade * np.cos(np.pi * x))
