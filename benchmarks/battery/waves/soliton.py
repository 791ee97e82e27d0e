"""A bright soliton of the focusing equation i ψ_t = −ψ_xx − 2|ψ|²ψ: sech(x − 2ct), phase cx + (1 − c²)t."""

import numpy as np

HARD = True
C = 1.0
PROBLEM = {
    "domain": {"kind": "interval", "left": -20, "right": 20},
    "fields": {
        "u": {
            "initial": "cos(x)/cosh(x + 3)",
            "boundary": [{"kind": "dirichlet"}],
            "equation": [
                {"block": "diffusion", "of": "v", "coefficient": -1},
                {"block": "product", "powers": {"u": 2, "v": 1}, "coefficient": -2},
                {"block": "power", "of": "v", "p": 3, "coefficient": -2},
            ],
        },
        "v": {
            "initial": "sin(x)/cosh(x + 3)",
            "boundary": [{"kind": "dirichlet"}],
            "equation": [
                {"block": "diffusion", "of": "u"},
                {"block": "product", "powers": {"u": 1, "v": 2}, "coefficient": 2},
                {"block": "power", "of": "u", "p": 3, "coefficient": 2},
            ],
        },
    },
    "time": {"end": 3},
}


def exact(x, t):
    psi = np.exp(1j * (C * x + (1 - C**2) * t)) / np.cosh(x + 3 - 2 * C * t)
    return {"u": psi.real, "v": psi.imag}
