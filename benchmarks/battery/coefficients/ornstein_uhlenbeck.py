"""Particles in a spring, u_t = (xu)_x + u_xx: a packet away from rest drifts in and takes the shape of equilibrium."""

import numpy as np

PROBLEM = {
    "domain": {"kind": "interval", "left": -7, "right": 7},
    "fields": {
        "u": {
            "initial": "exp(-(x - 2)^2/(2*0.25))/0.5",
            "boundary": [{"kind": "dirichlet"}],
            "equation": [
                {"block": "diffusion"},
                {"block": "advection", "velocity": ["x"]},
                {"block": "power"},
            ],
        }
    },
    "time": {"end": 2},
}


def exact(x, t):
    middle, spread = 2 * np.exp(-t), 1 - 0.75 * np.exp(-2 * t)
    return np.exp(-((x - middle) ** 2) / (2 * spread)) / np.sqrt(spread)
