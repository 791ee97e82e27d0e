"""Entry point of the pack ``bc``."""

from gleg_core.pack import Entry, hookimpl

CONTRACT = (1, 0)


@hookimpl
def gleg_boundary_operators() -> list[Entry]:
    return [
        Entry(
            "dirichlet",
            "u = g",
            params="gleg_bc.params:DirichletParams",
            factory="gleg_bc.dirichlet:Dirichlet",
            capabilities={"conditions": 1},
            examples=({}, {"value": "sin(t)"}),
        ),
        Entry(
            "neumann",
            "∂u/∂n = g",
            params="gleg_bc.params:NeumannParams",
            factory="gleg_bc.neumann:Neumann",
            capabilities={"conditions": 1},
            examples=({}, {"value": "x*t"}),
        ),
        Entry(
            "robin",
            "∂u/∂n + κ u = g",
            params="gleg_bc.params:RobinParams",
            factory="gleg_bc.robin:Robin",
            capabilities={"conditions": 1},
            examples=({"kappa": 2}, {"kappa": "1+x^2", "value": "t"}),
        ),
        Entry(
            "clamped",
            "u = g and ∂u/∂n = h",
            params="gleg_bc.params:ClampedParams",
            factory="gleg_bc.clamped:Clamped",
            capabilities={"conditions": 2},
            examples=({}, {"value": "x", "slope": "t"}),
        ),
        Entry(
            "free",
            "no condition (for equations without derivatives)",
            params="gleg_bc.params:FreeParams",
            factory="gleg_bc.free:Free",
            capabilities={"conditions": 0},
            examples=({},),
        ),
    ]
