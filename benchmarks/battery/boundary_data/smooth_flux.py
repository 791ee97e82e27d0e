"""A disk heated through its rim, steadily: u = r²/4 + 2t·½, with ∂u/∂n = ½ everywhere."""

PROBLEM = {
    "domain": {"kind": "disk", "radius": 1},
    "fields": {
        "u": {
            "initial": "(x^2 + y^2)/4",
            "boundary": [{"kind": "neumann", "value": 0.5}],
            "equation": [{"block": "diffusion"}],
        }
    },
    "time": {"end": 3},
}


def exact(x, y, t):
    return (x**2 + y**2) / 4 + t
