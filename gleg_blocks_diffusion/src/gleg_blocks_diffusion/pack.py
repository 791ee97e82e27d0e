"""Entry point of the pack ``diffusion``."""

from gleg_core.pack import Entry, hookimpl

CONTRACT = (3, 0)


@hookimpl
def gleg_blocks() -> list[Entry]:
    return [
        Entry(
            "diffusion",
            "Δu",
            params="gleg_blocks_diffusion.params:DiffusionParams",
            factory="gleg_blocks_diffusion.learned:diffusion",
            capabilities={
                "learned": "gleg_blocks_diffusion.learned:LearnedDiffusion",
                "weights": "gleg_blocks_diffusion:diffusion",
                "structure": "E",
                "order": 2,
                "degree": 1,
                "modes": ["weak", "pointwise", "ambient"],
            },
            examples=({}, {"twin": "analytic"}),
        ),
        Entry(
            "variable-diffusion",
            "∇·(D(x) ∇u)",
            params="gleg_blocks_diffusion.params:VariableDiffusionParams",
            factory="gleg_blocks_diffusion.variable:VariableDiffusion",
            capabilities={"structure": "E", "order": 2, "degree": 1, "modes": ["weak", "pointwise"]},
            examples=({"diffusivity": "1 + 0.5*x"},),
        ),
        Entry(
            "nonlinear-diffusion",
            "∇·(d(u) ∇u), d a formula of u or learned from data",
            params="gleg_blocks_diffusion.params:NonlinearDiffusionParams",
            factory="gleg_blocks_diffusion.nonlinear:nonlinear_diffusion",
            capabilities={
                "learned": "gleg_blocks_diffusion.nonlinear:LearnedDiffusivity",
                "structure": "E",
                "order": 2,
                "degree": None,
                "modes": ["weak", "pointwise"],
            },
            examples=({"diffusivity": "0.1 + u^2"},),
        ),
    ]
