"""Barenblatt's solution of u_t = Δ(u²), seen from inside its support, with moving data."""

PROBLEM = {
    "domain": {"kind": "disk", "radius": 1},
    "formulas": {"truth": "t^(-1/2)*(1 - (x^2 + y^2)/(16*t^(1/2)))"},
    "fields": {
        "u": {
            "initial": "truth",
            "boundary": [{"kind": "dirichlet", "value": "truth"}],
            "equation": [{"block": "nonlinear-diffusion", "diffusivity": "2*u"}],
        }
    },
    "time": {"start": 1, "end": 3},
}


def exact(x, y, t):
    return t**-0.5 * (1 - (x**2 + y**2) / (16 * t**0.5))
