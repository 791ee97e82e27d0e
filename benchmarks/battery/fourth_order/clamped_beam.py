"""A clamped beam, u_t = −u_xxxx: its first mode, cosh and cos with kl = 4.73."""

import numpy as np

K = 4.730040744862704
S = (np.cosh(K) - np.cos(K)) / (np.sinh(K) - np.sin(K))
PROBLEM = {
    "domain": {"kind": "interval", "left": 0, "right": 1},
    "constants": {"k": K, "s": S},
    "fields": {
        "u": {
            "initial": "cosh(k*x) - cos(k*x) - s*(sinh(k*x) - sin(k*x))",
            "boundary": [{"kind": "clamped"}],
            "equation": [{"square": [{"block": "diffusion"}], "coefficient": -1}],
        }
    },
    "time": {"end": 0.004},
}


def exact(x, t):
    return (np.cosh(K * x) - np.cos(K * x) - S * (np.sinh(K * x) - np.sin(K * x))) * np.exp(-(K**4) * t)
