"""A run from t = 5 to t = 6 with data that depend on t itself."""

PROBLEM = {
    "domain": {"kind": "interval", "left": 0, "right": 2},
    "fields": {
        "u": {
            "initial": "x*t^2",
            "boundary": [{"kind": "dirichlet", "value": "x*t^2"}],
            "equation": [{"block": "diffusion"}, {"block": "source", "value": "2*x*t"}],
        }
    },
    "time": {"start": 5, "end": 6},
}


def exact(x, t):
    return x * t**2
