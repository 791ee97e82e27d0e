"""The front between two stable states, u(1 − u)(u − a): ½(1 − tanh) of width 0.03 that moves at its own speed."""

import numpy as np

HARD = True
PROBLEM = {
    "domain": {"kind": "interval", "left": 0, "right": 1},
    "constants": {"D": 1e-3, "r": 20, "a": 0.2},
    "formulas": {"truth": "(1 - tanh((x - 0.2 - sqrt(2*D*r)*(0.5 - a)*t)*sqrt(r/(8*D))))/2"},
    "fields": {
        "u": {
            "initial": "truth",
            "boundary": [{"kind": "neumann"}],
            "equation": [
                {"block": "diffusion", "coefficient": "D"},
                {"block": "reaction", "rate": "r*u*(1 - u)*(u - a)"},
            ],
        }
    },
    "time": {"end": 8},
}


def exact(x, t):
    return (1 - np.tanh((x - 0.2 - np.sqrt(0.04) * 0.3 * t) * np.sqrt(2500))) / 2
