"""A square of two materials, 1 : 20, side by side: a mode that waves in one and fades into the other."""

import numpy as np
from scipy.optimize import brentq

HARD = True
D2 = 20.0


def mismatch(rate):
    p, q = np.sqrt(rate - np.pi**2), np.sqrt(np.pi**2 - rate / D2)
    return p * np.cos(p / 2) * np.sinh(q / 2) + D2 * q * np.cosh(q / 2) * np.sin(p / 2)


RATE = brentq(mismatch, np.pi**2 + np.pi**2 + 1, np.pi**2 + 4 * np.pi**2 - 1e-6, xtol=1e-14)
P, Q = np.sqrt(RATE - np.pi**2), np.sqrt(np.pi**2 - RATE / D2)
RATIO = np.sin(P / 2) / np.sinh(Q / 2)
PROBLEM = {
    "domain": {"kind": "rectangle", "x": [0, 1], "y": [0, 1]},
    "constants": {"p": P, "q": Q, "ratio": RATIO},
    "fields": {
        "u": {
            "initial": "where(x < 0.5, sin(p*x), ratio*sinh(q*(1 - x)))*sin(pi*y)",
            "boundary": [{"kind": "dirichlet"}],
            "equation": [{"block": "variable-diffusion", "diffusivity": "where(x < 0.5, 1, 20)"}],
        }
    },
    "time": {"end": 0.05},
}


def exact(x, y, t):
    shape = np.where(x < 0.5, np.sin(P * x), RATIO * np.sinh(Q * (1 - x)))
    return shape * np.sin(np.pi * y) * np.exp(-RATE * t)
