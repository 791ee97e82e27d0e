"""Wind at Péclet number 400 carries a packet to a wall: the layer of width 0.0025 only forms when it arrives."""

import numpy as np
from truths import heat_kernel

HARD = True
E = 0.0025
NEAR = (1, 0.03)
PROBLEM = {
    "domain": {"kind": "interval", "left": -1, "right": 1},
    "constants": {"eps": E},
    "fields": {
        "u": {
            "initial": "gauss((x + 0.2)/0.2)",
            "boundary": [{"kind": "dirichlet"}],
            "equation": [
                {"block": "diffusion", "coefficient": "eps"},
                {"block": "advection", "velocity": [1], "coefficient": -1},
            ],
        }
    },
    "time": {"end": 1.2},
}


def exact(x, t):
    """The packet in all of space less e^((x − 1)/ε) times its image behind the wall; the other wall is out of reach."""

    def free(s):
        return heat_kernel(np.abs(s + 0.2 - t), 0.2, E, t, 1)

    return free(x) - np.exp((x - 1) / E) * free(2 - x)
