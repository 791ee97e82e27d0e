"""A free wave packet of Schrödinger's equation runs through an interval: fifteen wavelengths wide, it spreads as it goes."""

import numpy as np

HARD = True
PROBLEM = {
    "domain": {"kind": "interval", "left": -10, "right": 10},
    "formulas": {"bump": "gauss((x + 4)/1.5)"},
    "fields": {
        "u": {
            "initial": "bump*cos(6*x)",
            "boundary": [{"kind": "dirichlet"}],
            "equation": [{"block": "diffusion", "of": "v", "coefficient": -1}],
        },
        "v": {
            "initial": "bump*sin(6*x)",
            "boundary": [{"kind": "dirichlet"}],
            "equation": [{"block": "diffusion", "of": "u"}],
        },
    },
    "time": {"end": 0.5},
}


def exact(x, t):
    """exp(ikx − ik²t) times the Gaussian of a free particle about x = −4 + 2kt."""
    s = 2.25 + 4j * t
    psi = np.sqrt(2.25 / s) * np.exp(-((x + 4 - 12 * t) ** 2) / s + 6j * x - 36j * t)
    return {"u": psi.real, "v": psi.imag}
