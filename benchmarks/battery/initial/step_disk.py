"""A hot core, r < ½, in a disk that is held at zero."""

import numpy as np
from scipy.special import j0, j1
from truths import bessel_zeros

HARD = True
PROBLEM = {
    "domain": {"kind": "disk", "radius": 1},
    "fields": {
        "u": {
            "initial": "where(x^2 + y^2 < 0.25, 1, 0)",
            "boundary": [{"kind": "dirichlet"}],
            "equation": [{"block": "diffusion"}],
        }
    },
    "time": {"end": 0.1},
}


def exact(x, y, t):
    r = np.hypot(x, y)
    if t == 0:
        return np.where(r < 0.5, 1.0, 0.0)
    j = bessel_zeros(0, 200)
    weight = j1(j / 2) / (j * j1(j) ** 2) * np.exp(-(j**2) * t)
    return sum(w * j0(k * r) for w, k in zip(weight, j, strict=True))
