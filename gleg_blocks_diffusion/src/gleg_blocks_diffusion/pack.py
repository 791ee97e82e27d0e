"""Entry point of the pack ``diffusion``."""

from gleg_core.pack import Entry, hookimpl

CONTRACT = (1, 0)


@hookimpl
def gleg_blocks() -> list[Entry]:
    return [
        Entry(
            "diffusion",
            "Δu",
            params="gleg_blocks_diffusion.params:DiffusionParams",
            factory="gleg_blocks_diffusion.laplacian:Diffusion",
            capabilities={"structure": "E", "order": 2, "degree": 1, "modes": ["weak", "pointwise", "ambient"]},
            examples=({},),
        ),
        Entry(
            "variable-diffusion",
            "∇·(D(x) ∇u)",
            params="gleg_blocks_diffusion.params:VariableDiffusionParams",
            factory="gleg_blocks_diffusion.variable:VariableDiffusion",
            capabilities={"structure": "E", "order": 2, "degree": 1, "modes": ["weak", "pointwise"]},
            examples=({"diffusivity": "1 + 0.5*x"},),
        ),
    ]
