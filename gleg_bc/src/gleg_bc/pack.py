"""Entry point of the pack ``bc``."""

from gleg_core.pack import Entry, hookimpl

CONTRACT = (3, 0)


@hookimpl
def gleg_boundary_operators() -> list[Entry]:
    return [
        Entry(
            "dirichlet",
            "u = g",
            params="gleg_bc.params:DirichletParams",
            factory="gleg_bc.dirichlet:Dirichlet",
            capabilities={"conditions": 1, "dims": [1, 2, 3]},
            examples=({}, {"value": "sin(t)"}),
        ),
        Entry(
            "neumann",
            "∂u/∂n = g",
            params="gleg_bc.params:NeumannParams",
            factory="gleg_bc.neumann:Neumann",
            capabilities={"conditions": 1, "dims": [1, 2, 3]},
            examples=({}, {"value": "x*t"}),
        ),
        Entry(
            "robin",
            "∂u/∂n + κ u = g",
            params="gleg_bc.params:RobinParams",
            factory="gleg_bc.robin:Robin",
            capabilities={"conditions": 1, "dims": [1, 2, 3]},
            examples=({"kappa": 2}, {"kappa": "1+x^2", "value": "t"}),
        ),
        Entry(
            "clamped",
            "u = g and ∂u/∂n = h",
            params="gleg_bc.params:ClampedParams",
            factory="gleg_bc.clamped:Clamped",
            capabilities={"conditions": 2, "dims": [1, 2, 3]},
            examples=({}, {"value": "x", "slope": "t"}),
        ),
        Entry(
            "floating",
            "u = c(t), an unknown constant, with no net flux ∮∂u/∂n ds = 0",
            params="gleg_bc.params:FloatingParams",
            factory="gleg_bc.floating:Floating",
            capabilities={
                "conditions": 1,
                "dims": [2, 3],
                "expected_failures": {
                    "normal-order-is-true": "the check's functions are constant on the boundary, which is what the condition allows",
                    "traces-are-local": "the condition compares u with its mean over the segment",
                    "flux-tells-the-normal-derivative": "∂u/∂n is zero in the mean over the segment only, which is all that test "
                    "functions constant there can see",
                },
            },
            examples=({},),
        ),
        Entry(
            "free",
            "no condition (for equations without derivatives)",
            params="gleg_bc.params:FreeParams",
            factory="gleg_bc.free:Free",
            capabilities={"conditions": 0, "dims": [1, 2, 3]},
            examples=({},),
        ),
    ]
