"""A core, r < ½, that conducts 1000 times better than the disk around it: the transmission solution of data x, fading."""

import numpy as np

HARD = True
A, R2 = 1000.0, 0.25
B = 2 / ((A + 1) + (1 - A) * R2 * 1.0) * 1.0  # inside c₀ r cos θ, outside (b r + c/r) cos θ, 1 on the rim
PROBLEM = {
    "domain": {"kind": "disk", "radius": 1},
    "constants": {"b": B * (A + 1) / 2, "c": B * (1 - A) * R2 / 2, "a": B},
    "formulas": {
        "r2": "x^2 + y^2",
        "shape": "where(r2 < 0.25, a*x, (b + c/max(r2, 0.01))*x)",
    },
    "fields": {
        "u": {
            "initial": "shape",
            "boundary": [{"kind": "dirichlet", "value": "x*exp(-t)"}],
            "equation": [
                {"block": "variable-diffusion", "diffusivity": "where(r2 < 0.25, 1000, 1)"},
                {"block": "source", "value": "-exp(-t)*shape"},
            ],
        }
    },
    "time": {"end": 1},
}


def exact(x, y, t):
    r2 = x**2 + y**2
    outside = B / 2 * ((A + 1) + (1 - A) * R2 / np.maximum(r2, 0.01)) * x
    return np.exp(-t) * np.where(r2 < R2, B * x, outside)
