"""Entry point of the pack ``transport``."""

from gleg_core.pack import Entry, hookimpl

CONTRACT = (3, 0)

_PARAMS = "gleg_blocks_transport.params"


@hookimpl
def gleg_blocks() -> list[Entry]:
    return [
        Entry(
            "transport",
            "u ∂u/∂x_i (Burgers: coefficient −1)",
            params=f"{_PARAMS}:TransportParams",
            factory="gleg_blocks_transport.learned:transport",
            capabilities={
                "learned": "gleg_blocks_transport.learned:LearnedTransport",
                "weights": "gleg_blocks_transport:transport",
                "structure": "H",
                "order": 1,
                "degree": 2,
                "modes": ["weak", "pointwise"],
            },
            examples=({"direction": "x"}, {"direction": "y", "twin": "analytic"}),
        ),
        Entry(
            "advection",
            "b(x, t)·∇u with a given velocity b (transport with the velocity: coefficient −1)",
            params=f"{_PARAMS}:AdvectionParams",
            factory="gleg_blocks_transport.advection:Advection",
            capabilities={
                "structure": "H where ∇·b = 0, else R",
                "order": 1,
                "degree": 1,
                "modes": ["weak", "pointwise"],
            },
            examples=({"velocity": [1, 0]}, {"velocity": ["-y", "x"]}, {"velocity": ["cos(t)", "x*y"]}),
        ),
        Entry(
            "cross-advection",
            "a ∂u/∂x_i with another field a (v ∂u/∂y in the equation of u)",
            params=f"{_PARAMS}:CrossAdvectionParams",
            factory="gleg_blocks_transport.cross:CrossAdvection",
            capabilities={"structure": "R", "order": 1, "degree": 2, "modes": ["weak", "pointwise"]},
            examples=({"by": "v", "direction": "y"},),
        ),
        Entry(
            "stream-advection",
            "(∇^⊥Ψ + ∇^⊥ψ)·∇ω, ∇^⊥ψ = (ψ_y, −ψ_x), by a field ψ and a given Ψ (vorticity: coefficient −1)",
            params=f"{_PARAMS}:StreamAdvectionParams",
            factory="gleg_blocks_transport.stream:StreamAdvection",
            capabilities={
                "structure": "H",
                "order": 1,
                "degree": "2; without stream 1",
                "modes": ["weak", "pointwise"],
                "dims": [2],
            },
            examples=(
                {"stream": "v"},
                {"background": "-(x^2 + y^2)/2"},
                {"stream": "v", "background": "sin(2*x + t)*cos(y)"},
            ),
        ),
    ]
