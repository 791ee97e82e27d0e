"""Swift–Hohenberg on a clamped disk whose data are waves that beat: given values and slopes that move."""

import numpy as np

HARD = True
PROBLEM = {
    "domain": {"kind": "disk", "radius": 1, "centre": [0, 0]},
    "formulas": {"truth": "0.3*cos(4*x + 3*y - 2*t)", "r": "sqrt(x^2 + y^2)"},
    "fields": {
        "u": {
            "initial": "truth",
            "boundary": [
                {
                    "kind": "clamped",
                    "value": "truth",
                    "slope": "-0.3*(4*x + 3*y)/r*sin(4*x + 3*y - 2*t)",
                }
            ],
            "equation": [
                {"square": [{"block": "diffusion"}, {"block": "power", "coefficient": 16}], "coefficient": -0.01},
                {"block": "power", "coefficient": 0.2},
                {"block": "power", "p": 3, "coefficient": -1},
                {"block": "source", "value": "0.6*sin(4*x + 3*y - 2*t) + (0.81 - 0.2)*truth + truth^3"},
            ],
        }
    },
    "time": {"end": 1},
}


def exact(x, y, t):
    return 0.3 * np.cos(4 * x + 3 * y - 2 * t)
