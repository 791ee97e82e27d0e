"""u_t = (log u)_xx has logistic fronts, 1/(1 + e^(−(x − t))): diffusion is fast where u is small, by e^10."""

import numpy as np

HARD = True
PROBLEM = {
    "domain": {"kind": "interval", "left": -10, "right": 10},
    "formulas": {"truth": "sigmoid(x - t)"},
    "fields": {
        "u": {
            "initial": "truth",
            "boundary": [{"kind": "dirichlet", "value": "truth"}],
            "equation": [{"block": "nonlinear-diffusion", "diffusivity": "1/u"}],
        }
    },
    "time": {"end": 3},
}


def exact(x, t):
    return 1 / (1 + np.exp(-(x - t)))
