"""Decay that grows with the distance, u_t = Δu − r²u: the ground state keeps its shape and fades like e^(−2t)."""

import numpy as np

PROBLEM = {
    "domain": {"kind": "rectangle", "x": [-6, 6], "y": [-6, 6]},
    "fields": {
        "u": {
            "initial": "(1 + x)*exp(-(x^2 + y^2)/2)",
            "boundary": [{"kind": "dirichlet"}],
            "equation": [{"block": "diffusion"}, {"block": "power", "coefficient": "-(x^2 + y^2)"}],
        }
    },
    "time": {"end": 1},
}


def exact(x, y, t):
    return (np.exp(-2 * t) + x * np.exp(-4 * t)) * np.exp(-(x**2 + y**2) / 2)
