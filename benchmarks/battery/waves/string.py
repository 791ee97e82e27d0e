"""A string, u_t = v, v_t = u_xx: three overtones, two periods."""

import numpy as np

PROBLEM = {
    "domain": {"kind": "interval", "left": 0, "right": 1},
    "fields": {
        "u": {
            "initial": "sin(pi*x) + 0.5*sin(3*pi*x)",
            "boundary": [{"kind": "dirichlet"}],
            "equation": [{"block": "power", "of": "v"}],
        },
        "v": {
            "initial": 0,
            "boundary": [{"kind": "dirichlet"}],
            "equation": [{"block": "diffusion", "of": "u"}],
        },
    },
    "time": {"end": 4},
}


def exact(x, t):
    u = v = 0.0
    for n, a in ((1, 1.0), (3, 0.5)):
        u = u + a * np.sin(n * np.pi * x) * np.cos(n * np.pi * t)
        v = v - a * n * np.pi * np.sin(n * np.pi * x) * np.sin(n * np.pi * t)
    return {"u": u, "v": v}
