"""A source of width 0.003 in time at t = 0.5, on a mode of an interval."""

import numpy as np
from truths import pulse_response

HARD = True
TIMES = (0.4987, 0.5013, 0.52)
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
    return 100 * pulse_response(np.pi**2, t, 0.5, 0.003) * np.sin(np.pi * x)
