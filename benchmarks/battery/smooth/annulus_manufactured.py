"""An annulus with a leaking outer and a held inner circle: log r and a saddle that fades."""

import numpy as np

PROBLEM = {
    "domain": {"kind": "annulus", "outer": 1, "inner": 0.25},
    "formulas": {"saddle": "exp(-t)*(x^2 - y^2)", "truth": "saddle + log(x^2 + y^2)/2"},
    "fields": {
        "u": {
            "initial": "truth",
            "boundary": [
                {"kind": "robin", "where": "outer", "kappa": 1, "value": "1 + 3*saddle"},
                {"kind": "dirichlet", "where": "inner", "value": "truth"},
            ],
            "equation": [{"block": "diffusion"}, {"block": "source", "value": "-saddle"}],
        }
    },
    "time": {"end": 2},
}


def exact(x, y, t):
    return np.exp(-t) * (x**2 - y**2) + np.log(np.hypot(x, y))
