"""A drum: the mode J₂(jr) cos 2θ cos jt of the wave equation for three of its periods."""

import numpy as np
from scipy.special import jv
from truths import bessel_zeros, polar

J = float(bessel_zeros(2, 1)[0])
PROBLEM = {
    "domain": {"kind": "disk", "radius": 1},
    "constants": {"j": J},
    "fields": {
        "u": {
            "initial": "besselj(2, j*sqrt(x^2 + y^2))*cos(2*atan2(y, x))",
            "boundary": [{"kind": "dirichlet"}],
            "equation": [{"block": "power", "of": "v"}],
        },
        "v": {
            "initial": 0,
            "boundary": [{"kind": "dirichlet"}],
            "equation": [{"block": "diffusion", "of": "u"}],
        },
    },
    "time": {"end": 3.6},
}


def exact(x, y, t):
    r, theta = polar(x, y)
    mode = jv(2, J * r) * np.cos(2 * theta)
    return {"u": mode * np.cos(J * t), "v": -J * mode * np.sin(J * t)}
