"""A disk whose rim is held at cos 12θ that pulses: u = r¹² cos 12θ (1 + sin t)."""

import numpy as np
from truths import polar

PROBLEM = {
    "domain": {"kind": "disk", "radius": 1},
    "formulas": {"petals": "(x^2 + y^2)^6*cos(12*atan2(y, x))"},
    "fields": {
        "u": {
            "initial": "petals",
            "boundary": [{"kind": "dirichlet", "value": "petals*(1 + sin(t))"}],
            "equation": [{"block": "diffusion"}, {"block": "source", "value": "petals*cos(t)"}],
        }
    },
    "time": {"end": 2},
}


def exact(x, y, t):
    r, theta = polar(x, y)
    return r**12 * np.cos(12 * theta) * (1 + np.sin(t))
