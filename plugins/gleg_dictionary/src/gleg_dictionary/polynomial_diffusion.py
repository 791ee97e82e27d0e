"""Reaction–diffusion laws  u_t = c₀Δu + Σ_α c_α u^{α₁} v^{α₂} …  with all monomials up to a degree."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement

from gleg_core.contracts.dictionary import Candidate, Dictionary
from gleg_dictionary.params import PolynomialDiffusionParams
from gleg_dictionary.terms import constant, laplacian, monomial


class PolynomialDiffusion(Dictionary):
    """Δu (and Δv, … on request), 1 (on request), then the monomials of all fields by rising degree."""

    def __init__(self, params: PolynomialDiffusionParams):
        self._params = params

    def candidates(self, field: str, fields: tuple[str, ...], dim: int) -> Sequence[Candidate]:
        others = [name for name in fields if name != field] if self._params.cross_diffusion else []
        return [
            *map(laplacian, (field, *others)),
            *([constant()] if self._params.constant else []),
            *self._monomials((field, *(name for name in fields if name != field))),
        ]

    def _monomials(self, fields: tuple[str, ...]) -> Iterator[Candidate]:
        for degree in range(1, self._params.max_degree + 1):
            for factors in combinations_with_replacement(fields, degree):
                if self._params.products or len(set(factors)) == 1:
                    yield monomial(Counter(factors))
