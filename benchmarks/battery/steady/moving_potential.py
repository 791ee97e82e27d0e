"""A potential that only follows its moving data, 0 = Δψ, ψ = x²−y² times cos 5t on a star, and heats u."""

import numpy as np

PROBLEM = {
    "domain": {"kind": "polar", "radius": "1 + 0.15*cos(3*theta)"},
    "formulas": {"saddle": "x^2 - y^2"},
    "fields": {
        "u": {
            "initial": 0,
            "boundary": [{"kind": "dirichlet", "value": "saddle*sin(5*t)/5"}],
            "equation": [{"block": "diffusion"}, {"block": "power", "of": "psi"}],
        },
        "psi": {
            "steady": True,
            "boundary": [{"kind": "dirichlet", "value": "saddle*cos(5*t)"}],
            "equation": [{"block": "diffusion"}],
        },
    },
    "time": {"end": 2},
}


def exact(x, y, t):
    saddle = x**2 - y**2
    return {"u": saddle * np.sin(5 * t) / 5, "psi": saddle * np.cos(5 * t)}
