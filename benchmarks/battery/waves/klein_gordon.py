"""Waves with mass and a little friction in an insulated square: u_t = v, v_t = Δu − 25u − 0.2v."""

import numpy as np

PROBLEM = {
    "domain": {"kind": "rectangle", "x": [0, 1], "y": [0, 1]},
    "fields": {
        "u": {
            "initial": "cos(pi*x)*cos(2*pi*y)",
            "boundary": [{"kind": "neumann"}],
            "equation": [{"block": "power", "of": "v"}],
        },
        "v": {
            "initial": "-0.1*cos(pi*x)*cos(2*pi*y)",
            "boundary": [{"kind": "neumann"}],
            "equation": [
                {"block": "diffusion", "of": "u"},
                {"block": "power", "of": "u", "coefficient": -25},
                {"block": "power", "coefficient": -0.2},
            ],
        },
    },
    "time": {"end": 2},
}


def exact(x, y, t):
    w = np.sqrt(5 * np.pi**2 + 25 - 0.01)
    mode = np.cos(np.pi * x) * np.cos(2 * np.pi * y) * np.exp(-0.1 * t)
    return {"u": mode * np.cos(w * t), "v": mode * (-0.1 * np.cos(w * t) - w * np.sin(w * t))}
