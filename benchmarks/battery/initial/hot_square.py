"""A hot square whose sides are suddenly cold."""

from truths import cooling_slab

HARD = True
PROBLEM = {
    "domain": {"kind": "rectangle", "x": [0, 1], "y": [0, 1]},
    "fields": {"u": {"initial": 1, "boundary": [{"kind": "dirichlet"}], "equation": [{"block": "diffusion"}]}},
    "time": {"end": 0.02},
}


def exact(x, y, t):
    return cooling_slab(x, t) * cooling_slab(y, t)
