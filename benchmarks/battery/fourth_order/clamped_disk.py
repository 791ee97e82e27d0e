"""A clamped plate, u_t = −Δ²u + f: (1 − r²)² e^(−t)."""

import numpy as np

PROBLEM = {
    "domain": {"kind": "disk", "radius": 1},
    "formulas": {"truth": "(1 - x^2 - y^2)^2*exp(-t)"},
    "fields": {
        "u": {
            "initial": "truth",
            "boundary": [{"kind": "clamped"}],
            "equation": [
                {"square": [{"block": "diffusion"}], "coefficient": -1},
                {"block": "source", "value": "64*exp(-t) - truth"},
            ],
        }
    },
    "time": {"end": 2},
}


def exact(x, y, t):
    return (1 - x**2 - y**2) ** 2 * np.exp(-t)
