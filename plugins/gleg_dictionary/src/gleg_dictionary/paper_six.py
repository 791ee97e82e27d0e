"""The six candidates of the law-discovery experiment:  u_t = c₁Δu − c₂∂x(u²/2) − c₃∂y(u²/2) + c₄u + c₅u² + c₆u³."""

from collections.abc import Sequence

from gleg_core.contracts.dictionary import Candidate, Dictionary
from gleg_dictionary.params import PaperSixParams
from gleg_dictionary.terms import laplacian, monomial, transport


class PaperSix(Dictionary):
    """Δu, one transport −∂_i(u²/2) per coordinate, u, u², u³: six candidates in two dimensions."""

    def __init__(self, params: PaperSixParams):
        pass

    def candidates(self, field: str, fields: tuple[str, ...], dim: int) -> Sequence[Candidate]:
        directions = [transport(field, axis) for axis in "xyz"[:dim]]
        return [laplacian(field), *directions, *(monomial({field: p}) for p in (1, 2, 3))]
