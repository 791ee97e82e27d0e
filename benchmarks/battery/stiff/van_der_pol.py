"""Van der Pol's oscillator with μ = 20, the same everywhere: u_t = v, v_t = μ(1 − u²)v − u, and both diffuse a little."""

import numpy as np
from truths import kinetics

HARD = True
PROBLEM = {
    "domain": {"kind": "interval", "left": 0, "right": 1},
    "fields": {
        "u": {
            "initial": 2,
            "boundary": [{"kind": "neumann"}],
            "equation": [{"block": "diffusion", "coefficient": 0.01}, {"block": "power", "of": "v"}],
        },
        "v": {
            "initial": 0,
            "boundary": [{"kind": "neumann"}],
            "equation": [
                {"block": "diffusion", "coefficient": 0.01},
                {"block": "power", "coefficient": 20},
                {"block": "product", "powers": {"u": 2, "v": 1}, "coefficient": -20},
                {"block": "power", "of": "u", "coefficient": -1},
            ],
        },
    },
    "time": {"end": 45},
}
PATH = kinetics(lambda t, z: [z[1], 20 * (1 - z[0] ** 2) * z[1] - z[0]], [2, 0], 45)


def exact(x, t):
    u, v = PATH(t)
    return {"u": np.full_like(x, u), "v": np.full_like(x, v)}
