"""Schrödinger's equation in a square box, ψ = u + iv, i ψ_t = −Δψ: two modes that beat."""

import numpy as np

PROBLEM = {
    "domain": {"kind": "rectangle", "x": [0, 1], "y": [0, 1]},
    "formulas": {"a": "sin(pi*x)*sin(pi*y)", "b": "sin(2*pi*x)*sin(pi*y)"},
    "fields": {
        "u": {
            "initial": "a + b",
            "boundary": [{"kind": "dirichlet"}],
            "equation": [{"block": "diffusion", "of": "v", "coefficient": -1}],
        },
        "v": {
            "initial": 0,
            "boundary": [{"kind": "dirichlet"}],
            "equation": [{"block": "diffusion", "of": "u"}],
        },
    },
    "time": {"end": 0.5},
}


def exact(x, y, t):
    a, b = np.sin(np.pi * x) * np.sin(np.pi * y), np.sin(2 * np.pi * x) * np.sin(np.pi * y)
    psi = a * np.exp(-2j * np.pi**2 * t) + b * np.exp(-5j * np.pi**2 * t)
    return {"u": psi.real, "v": psi.imag}
