"""Taylor's vortices in a box: vorticity and streamfunction, whose nonlinear term vanishes, fade like e^(−2νπ²t)."""

import numpy as np

PROBLEM = {
    "domain": {"kind": "rectangle", "x": [0, 2], "y": [0, 2]},
    "fields": {
        "omega": {
            "initial": "2*pi^2*sin(pi*x)*sin(pi*y)",
            "boundary": [{"kind": "dirichlet"}],
            "equation": [
                {"block": "diffusion", "coefficient": 0.01},
                {"block": "stream-advection", "stream": "psi", "coefficient": -1},
            ],
        },
        "psi": {
            "steady": True,
            "boundary": [{"kind": "dirichlet"}],
            "equation": [{"block": "diffusion"}, {"block": "power", "of": "omega"}],
        },
    },
    "time": {"end": 2},
}


def exact(x, y, t):
    psi = np.sin(np.pi * x) * np.sin(np.pi * y) * np.exp(-0.02 * np.pi**2 * t)
    return {"omega": 2 * np.pi**2 * psi, "psi": psi}
