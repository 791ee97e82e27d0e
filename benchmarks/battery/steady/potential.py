"""A field that feeds on its own potential: u_t = Δu + 50ψ, 0 = Δψ + u, on a mode of the disk."""

import numpy as np
from scipy.special import j0

J = 2.404825557695773
PROBLEM = {
    "domain": {"kind": "disk", "radius": 1},
    "constants": {"j": J},
    "fields": {
        "u": {
            "initial": "besselj0(j*sqrt(x^2 + y^2))",
            "boundary": [{"kind": "dirichlet"}],
            "equation": [{"block": "diffusion"}, {"block": "power", "of": "psi", "coefficient": 50}],
        },
        "psi": {
            "steady": True,
            "boundary": [{"kind": "dirichlet"}],
            "equation": [{"block": "diffusion"}, {"block": "power", "of": "u"}],
        },
    },
    "time": {"end": 1},
}


def exact(x, y, t):
    u = j0(J * np.hypot(x, y)) * np.exp((50 / J**2 - J**2) * t)
    return {"u": u, "psi": u / J**2}
