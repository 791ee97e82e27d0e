"""Two-dimensional Burgers from Cole and Hopf, (u, v) = −2ν ∇log φ, with φ = 4 + a mode that fades, plus a product."""

import numpy as np

NU = 0.05
PROBLEM = {
    "domain": {"kind": "rectangle", "x": [0, 1], "y": [0, 1]},
    "constants": {"nu": NU},
    "formulas": {
        "fade": "exp(-2*nu*pi^2*t)",
        "phi": "2 + cos(pi*x)*cos(pi*y)*fade",
        "U": "2*nu*pi*sin(pi*x)*cos(pi*y)*fade/phi",
        "V": "2*nu*pi*cos(pi*x)*sin(pi*y)*fade/phi",
    },
    "fields": {
        "u": {
            "initial": "U",
            "boundary": [{"kind": "dirichlet", "value": "U"}],
            "equation": [
                {"block": "diffusion", "coefficient": "nu"},
                {"block": "transport", "direction": "x", "coefficient": -1},
                {"block": "cross-advection", "by": "v", "direction": "y", "coefficient": -1},
            ],
        },
        "v": {
            "initial": "V",
            "boundary": [{"kind": "dirichlet", "value": "V"}],
            "equation": [
                {"block": "diffusion", "coefficient": "nu"},
                {"block": "transport", "direction": "y", "coefficient": -1},
                {"block": "cross-advection", "by": "u", "direction": "x", "coefficient": -1},
            ],
        },
    },
    "time": {"end": 2},
}


def exact(x, y, t):
    fade = np.exp(-2 * NU * np.pi**2 * t)
    sx, cx, sy, cy = np.sin(np.pi * x), np.cos(np.pi * x), np.sin(np.pi * y), np.cos(np.pi * y)
    factor = 2 * NU * np.pi * fade / (2 + cx * cy * fade)
    return {"u": factor * sx * cy, "v": factor * cx * sy}
