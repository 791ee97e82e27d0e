"""u_t = Δ log u in the plane: 4/(r² + e^t), a cigar that flattens."""

import numpy as np

PROBLEM = {
    "domain": {"kind": "ellipse", "a": 1.5, "b": 1},
    "formulas": {"truth": "4/(x^2 + y^2 + exp(t))"},
    "fields": {
        "u": {
            "initial": "truth",
            "boundary": [{"kind": "dirichlet", "value": "truth"}],
            "equation": [{"block": "nonlinear-diffusion", "diffusivity": "1/u"}],
        }
    },
    "time": {"end": 1},
}


def exact(x, y, t):
    return 4 / (x**2 + y**2 + np.exp(t))
