"""An interval of two materials, 1 : 1000, held at both ends: the slowest mode, matched at x = 0.4."""

import numpy as np
from scipy.optimize import brentq

HARD = True
E, D1, D2 = 0.4, 1.0, 1000.0


def mismatch(s):
    """Of flux where the values agree, times both sines: s² the rate of decay."""
    p, q = s / np.sqrt(D1), s / np.sqrt(D2)
    return D1 * p * np.cos(p * E) * np.sin(q * (1 - E)) + D2 * q * np.cos(q * (1 - E)) * np.sin(p * E)


S = brentq(mismatch, 1.0, np.pi / E, xtol=1e-15)
P, Q = S / np.sqrt(D1), S / np.sqrt(D2)
RATIO = np.sin(P * E) / np.sin(Q * (1 - E))
PROBLEM = {
    "domain": {"kind": "interval", "left": 0, "right": 1},
    "constants": {"p": P, "q": Q, "ratio": RATIO},
    "fields": {
        "u": {
            "initial": "where(x < 0.4, sin(p*x), ratio*sin(q*(1 - x)))",
            "boundary": [{"kind": "dirichlet"}],
            "equation": [{"block": "variable-diffusion", "diffusivity": "where(x < 0.4, 1, 1000)"}],
        }
    },
    "time": {"end": 0.05},
}


def exact(x, t):
    return np.where(x < E, np.sin(P * x), RATIO * np.sin(Q * (1 - x))) * np.exp(-(S**2) * t)
