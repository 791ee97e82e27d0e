"""Robertson's reactions, rates 0.04, 1e4 and 3e7, the same everywhere, until t = 40: the classic of stiffness."""

import numpy as np
from truths import kinetics

HARD = True
PROBLEM = {
    "domain": {"kind": "interval", "left": 0, "right": 1},
    "fields": {
        "a": {
            "initial": 1,
            "boundary": [{"kind": "neumann"}],
            "equation": [
                {"block": "diffusion", "coefficient": 0.01},
                {"block": "power", "coefficient": -0.04},
                {"block": "product", "powers": {"b": 1, "c": 1}, "coefficient": 1e4},
            ],
        },
        "b": {
            "initial": 0,
            "boundary": [{"kind": "neumann"}],
            "equation": [
                {"block": "diffusion", "coefficient": 0.01},
                {"block": "power", "of": "a", "coefficient": 0.04},
                {"block": "product", "powers": {"b": 1, "c": 1}, "coefficient": -1e4},
                {"block": "power", "p": 2, "coefficient": -3e7},
            ],
        },
        "c": {
            "initial": 0,
            "boundary": [{"kind": "neumann"}],
            "equation": [
                {"block": "diffusion", "coefficient": 0.01},
                {"block": "power", "of": "b", "p": 2, "coefficient": 3e7},
            ],
        },
    },
    "time": {"end": 40},
}


def rates(t, z):
    a, b, c = z
    first, second, third = 0.04 * a, 3e7 * b**2, 1e4 * b * c
    return [third - first, first - third - second, second]


PATH = kinetics(rates, [1, 0, 0], 40)


def exact(x, t):
    return {name: np.full_like(x, value) for name, value in zip("abc", PATH(t), strict=True)}
