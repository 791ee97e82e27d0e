"""One end of an interval is switched on at t = 0.313 and off at t = 0.588."""

from truths import warming_slab

HARD = True
PROBLEM = {
    "domain": {"kind": "interval", "left": 0, "right": 1},
    "fields": {
        "u": {
            "initial": 0,
            "boundary": [
                {"kind": "dirichlet", "where": "left", "value": "where(0.313 < t < 0.588, 1, 0)"},
                {"kind": "dirichlet", "where": "right"},
            ],
            "equation": [{"block": "diffusion"}],
        }
    },
    "time": {"end": 1},
}


def exact(x, t):
    return warming_slab(x, t - 0.313) - warming_slab(x, t - 0.588)
