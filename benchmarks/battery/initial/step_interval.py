"""A step of temperature in an insulated interval."""

from truths import spread_step

HARD = True
PROBLEM = {
    "domain": {"kind": "interval", "left": 0, "right": 1},
    "fields": {
        "u": {
            "initial": "where(x < 0.37, 1, 0)",
            "boundary": [{"kind": "neumann"}],
            "equation": [{"block": "diffusion", "coefficient": 0.05}],
        }
    },
    "time": {"end": 1},
}


def exact(x, t):
    return spread_step(x, 0.37, t, 0.05)
