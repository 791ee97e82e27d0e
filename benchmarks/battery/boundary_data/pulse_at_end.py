"""One end of an interval gets a pulse of width 0.003 at t = 0.507."""

import numpy as np

HARD = True
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
    """Duhamel: Σ 2nπ sin(nπx) ∫ g(s) e^(−n²π²(t − s)) ds, by a fine Gauss rule where the pulse is."""
    nodes, weights = np.polynomial.legendre.leggauss(400)
    s, w = 0.507 + 0.02 * nodes, 0.02 * weights * 100 * np.exp(-((0.02 * nodes / 0.003) ** 2))
    w = np.where(s < t, w, 0.0)
    n = np.arange(1, 400)
    share = np.exp(-((n[:, None] * np.pi) ** 2) * np.maximum(t - s, 0.0)) @ w
    return np.sin(np.pi * np.outer(x, n)) @ (2 * np.pi * n * share)
