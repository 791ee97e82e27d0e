"""A hot interval whose ends are suddenly cold, for a short time: layers of width 0.006 at the first saved time."""

from truths import cooling_slab

HARD = True
PROBLEM = {
    "domain": {"kind": "interval", "left": 0, "right": 1},
    "fields": {"u": {"initial": 1, "boundary": [{"kind": "dirichlet"}], "equation": [{"block": "diffusion"}]}},
    "time": {"end": 2e-4},
}


def exact(x, t):
    return cooling_slab(x, t)
