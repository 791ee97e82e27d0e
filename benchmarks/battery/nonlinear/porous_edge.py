"""Barenblatt's solution of u_t = Δ(u²) with the edge of its support inside the disk, where diffusion ends: a kink that moves."""

import numpy as np

HARD = True
PROBLEM = {
    "domain": {"kind": "disk", "radius": 1},
    "formulas": {"truth": "max(0.04*t^(-1/2) - (x^2 + y^2)/(16*t), 0)"},
    "fields": {
        "u": {
            "initial": "truth",
            "boundary": [{"kind": "neumann"}],
            "equation": [{"block": "nonlinear-diffusion", "diffusivity": "2*max(u, 0)"}],
        }
    },
    "time": {"start": 0.1, "end": 1},
}


def exact(x, y, t):
    return np.maximum(0.04 * t**-0.5 - (x**2 + y**2) / (16 * t), 0)
