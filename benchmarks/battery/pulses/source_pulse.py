"""A source of width 0.003 in time at t = 0.5, on a mode of an interval."""

import numpy as np
from scipy.integrate import quad_vec

HARD = True
PROBLEM = {
    "domain": {"kind": "interval", "left": 0, "right": 1},
    "fields": {
        "u": {
            "initial": 0,
            "boundary": [{"kind": "dirichlet"}],
            "equation": [
                {"block": "diffusion"},
                {"block": "source", "value": "100*gauss((t - 0.5)/0.003)*sin(pi*x)"},
            ],
        }
    },
    "time": {"end": 1},
}


def exact(x, t):
    def kick(s):
        return 100 * np.exp(-(((s - 0.5) / 0.003) ** 2) - np.pi**2 * (t - s))

    top = max(min(t, 0.53), 0.47)
    return quad_vec(kick, 0.47, top, points=[0.5], epsrel=1e-11)[0] * np.sin(np.pi * x)
