"""A hot quarter of an insulated square, whose border has a corner inside."""

from truths import spread_step

HARD = True
PROBLEM = {
    "domain": {"kind": "rectangle", "x": [0, 1], "y": [0, 1]},
    "fields": {
        "u": {
            "initial": "where(x < 0.4 and y < 0.55, 1, 0)",
            "boundary": [{"kind": "neumann"}],
            "equation": [{"block": "diffusion", "coefficient": 0.05}],
        }
    },
    "time": {"end": 1},
}


def exact(x, y, t):
    return spread_step(x, 0.4, t, 0.05) * spread_step(y, 0.55, t, 0.05)
