"""A kink of u_tt = u_xx − sin u at 0.8 of the speed of waves."""

import numpy as np

HARD = True
C = 0.8
PROBLEM = {
    "domain": {"kind": "interval", "left": -10, "right": 10},
    "constants": {"g": 1 / np.sqrt(1 - C**2), "c": C},
    "formulas": {"s": "g*(x + 4 - c*t)", "kink": "4*atan(exp(s))", "rate": "-2*c*g/cosh(s)"},
    "fields": {
        "u": {
            "initial": "kink",
            "boundary": [{"kind": "dirichlet", "value": "kink"}],
            "equation": [{"block": "power", "of": "v"}],
        },
        "v": {
            "initial": "rate",
            "boundary": [{"kind": "dirichlet", "value": "rate"}],
            "equation": [
                {"block": "diffusion", "of": "u"},
                {"block": "reaction", "of": "u", "rate": "-sin(u)"},
            ],
        },
    },
    "time": {"end": 8},
}


def exact(x, t):
    g = 1 / np.sqrt(1 - C**2)
    s = g * (x + 4 - C * t)
    return {"u": 4 * np.arctan(np.exp(s)), "v": -2 * C * g / np.cosh(s)}
