"""One end of an interval gets a pulse of width 0.003 at t = 0.507."""

import numpy as np
from truths import pulse_response

HARD = True
LOOSE = "second derivatives of the series converge slowly"
TIMES = (0.504, 0.509, 0.52)
PROBLEM = {
    "domain": {"kind": "interval", "left": 0, "right": 1},
    "fields": {
        "u": {
            "initial": 0,
            "boundary": [
                {"kind": "dirichlet", "where": "left", "value": "100*gauss((t - 0.507)/0.003)"},
                {"kind": "dirichlet", "where": "right"},
            ],
            "equation": [{"block": "diffusion"}],
        }
    },
    "time": {"end": 1},
}


def exact(x, t):
    """(1 − x) g(t) − Σ 2/(nπ) sin(nπx) ∫ g′(s) e^(−n²π²(t − s)) ds, where the integral is g − n²π² ∫ g(s) e^(…) ds."""
    g, n = 100 * np.exp(-(((t - 0.507) / 0.003) ** 2)), np.arange(1, 1500)
    lag = g - (n * np.pi) ** 2 * 100 * pulse_response((n * np.pi) ** 2, t, 0.507, 0.003)
    return (1 - x) * g - np.sin(np.pi * np.outer(x, n)) @ (2 / (n * np.pi) * lag)
