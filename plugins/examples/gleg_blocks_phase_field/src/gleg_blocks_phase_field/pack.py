"""Entry point of the pack ``phase-field``: mechanisms that a function can say stand here, sums of them are classes."""

from typing import TYPE_CHECKING, Annotated

from gleg_core.mechanisms import Positive, energy, pointwise
from gleg_core.pack import Entry, hookimpl

if TYPE_CHECKING:
    from torch import Tensor

CONTRACT = (3, 0)

_PACKAGE = "gleg_blocks_phase_field"


@energy("−Δ²u, a clamped plate", degree=1, examples=({},))
def biharmonic(u: "Tensor", laplacian_u: "Tensor") -> "Tensor":
    return laplacian_u**2 / 2


@energy(
    "−ε²Δ²u with ∂u/∂n prescribed, the second condition natural",
    degree=1,
    traces=(1,),
    conditions=1,
    invariants=("mass",),
    examples=({"epsilon": 0.1},),
)
def surface_energy(
    u: "Tensor", laplacian_u: "Tensor", *, epsilon: Annotated[Positive, "ε, width of the interfaces"]
) -> "Tensor":
    return (epsilon * laplacian_u) ** 2 / 2


# an energy without lower bound, Δu with the wrong sign feeds long waves: R, not E
@energy("−Δ²u − Δu", degree=1, structure="R", traces=(1,), conditions=1)
def flame_instability(u: "Tensor", grad_u: "tuple[Tensor, ...]", laplacian_u: "Tensor") -> "Tensor":
    return (laplacian_u**2 - _square(grad_u)) / 2


@pointwise("−½|∇u|², a front that moves along its normal", degree=2, examples=({},))
def eikonal(u: "Tensor", grad_u: "tuple[Tensor, ...]") -> "Tensor":
    return -_square(grad_u) / 2


def _square(g: "tuple[Tensor, ...]") -> "Tensor":
    first, *rest = (g_i**2 for g_i in g)
    return sum(rest, first)


@hookimpl
def gleg_blocks() -> list[Entry]:
    return [
        biharmonic.entry,
        surface_energy.entry,
        eikonal.entry,
        Entry(
            "cahn-hilliard",
            "Δ(f′(u) − ε²Δu) without flux through ∂Ω",
            params=f"{_PACKAGE}.params:CahnHilliardParams",
            factory=f"{_PACKAGE}.cahn_hilliard:CahnHilliard",
            capabilities={"structure": "R", "order": 4, "degree": None, "modes": ["weak"]},
            examples=({"epsilon": 0.1}, {"epsilon": 0.1, "potential": "u*(u - 1)*(2*u - 1)"}),
        ),
        Entry(
            "kuramoto-sivashinsky",
            "−Δ²u − Δu − ½|∇u|² between reflecting walls, or clamped",
            params=f"{_PACKAGE}.params:KuramotoSivashinskyParams",
            factory=f"{_PACKAGE}.kuramoto_sivashinsky:KuramotoSivashinsky",
            capabilities={"structure": "R", "order": 4, "degree": 2, "modes": ["weak"]},
            examples=({},),
        ),
    ]
