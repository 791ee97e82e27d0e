"""A thin ring around a hole that hardly conducts, 1/D = 1 + 300 w²/((r − a)² + w²), between a warm hole and a cold rim."""

import numpy as np

HARD = True
A, W, PLACE, INNER = 300.0, 0.02, 0.6, 0.3
LOOSE = "compared at the end only, when it stands still"
PROBLEM = {
    "domain": {"kind": "annulus", "inner": INNER, "outer": 1},
    "constants": {"A": A, "w": W, "a": PLACE},
    "fields": {
        "u": {
            "initial": "log(r)/log(0.3)",
            "boundary": [{"kind": "dirichlet", "value": "log(r)/log(0.3)"}],
            "equation": [{"block": "variable-diffusion", "diffusivity": "1/(1 + A*w^2/((r - a)^2 + w^2))"}],
        }
    },
    "formulas": {"r": "sqrt(x^2 + y^2)"},
    "time": {"end": 60},
    "output": {"frames": 1},
}


def resistance(r):
    """∫ dr/(rD) from the rim: 1/(r((r − a)² + w²)) by partial fractions."""
    s2 = PLACE**2 + W**2

    def inner(r):
        log = np.log(r) - 0.5 * np.log((r - PLACE) ** 2 + W**2)
        return (log + PLACE / W * np.arctan((r - PLACE) / W)) / s2

    return np.log(r) + A * W**2 * (inner(r) - inner(1.0))


def exact(x, y, t):
    r = np.sqrt(x**2 + y**2)
    return np.log(r) / np.log(INNER) if t == 0 else resistance(r) / resistance(INNER)
