"""u_t = (e^u u_x)_x has the solution log((x + 2)²/2(3 − t)), which grows ever faster towards the end."""

import numpy as np

PROBLEM = {
    "domain": {"kind": "interval", "left": 0, "right": 1},
    "formulas": {"truth": "log((x + 2)^2/(2*(3 - t)))"},
    "fields": {
        "u": {
            "initial": "truth",
            "boundary": [{"kind": "dirichlet", "value": "truth"}],
            "equation": [{"block": "nonlinear-diffusion", "diffusivity": "exp(u)"}],
        }
    },
    "time": {"end": 2.9},
}


def exact(x, t):
    return np.log((x + 2) ** 2 / (2 * (3 - t)))
