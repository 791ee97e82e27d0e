"""Composed mechanisms: (Σ c_i L_i)² of constant-coefficient linear mechanisms.

Squaring the *reduced* operator would project L u back onto functions with the boundary conditions of u before L acts again;
for clamped data that converges to a wrong operator (on the disk to the squared Dirichlet Laplacian, 258 instead of 805). Here L acts
twice before anything is projected, or the weak form ⟨L v, L u⟩ is used where the traces of v vanish.
"""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from gleg_core.contracts.basis import Basis
from gleg_core.contracts.block import Block, Fields, Mode, Traits
from gleg_core.contracts.jet import Jet, MultiIndex
from gleg_core.contracts.location import Location
from gleg_core.errors import SpecError

Symbol = Mapping[MultiIndex, float]


def multiply(p: Symbol, q: Symbol) -> dict[MultiIndex, float]:
    """Symbol of the composition of two constant-coefficient operators."""
    result: dict[MultiIndex, float] = {}
    for alpha, a in p.items():
        for beta, b in q.items():
            gamma = tuple(i + j for i, j in zip(alpha, beta, strict=True))
            result[gamma] = result.get(gamma, 0.0) + a * b
    return result


def apply(symbol: Symbol, u: Jet) -> Tensor:
    """Σ s_α ∂^αu."""
    return torch.stack([s * u.d(alpha) for alpha, s in symbol.items()]).sum(dim=0)


class Square(Block):
    """L² with L = Σ c_i L_i.  Weak form: ∫ v L²u = ∫ (L v)(L u) when the traces of v below the order of L vanish."""

    def __init__(self, parts: Sequence[tuple[float, Block]], field: str):
        self._symbol: dict[MultiIndex, float] = {}
        for c, block in parts:
            symbol = block.symbol()
            if symbol is None or block.acts_on != field:
                raise SpecError(
                    f"{type(block).__name__} cannot be squared: only linear mechanisms with constant coefficients of one "
                    "and the same field can"
                )
            for alpha, s in symbol.items():
                self._symbol[alpha] = self._symbol.get(alpha, 0.0) + c * s
        self._parts, self._field = list(parts), field
        order = max(sum(alpha) for alpha in self._symbol)
        self_adjoint = all(sum(alpha) % 2 == 0 for alpha in self._symbol)
        ambient: tuple[Mode, ...] = ("ambient",) if all("ambient" in b.traits.modes for _, b in parts) else ()
        weak: tuple[Mode, ...] = ("weak",) if self_adjoint else ()
        modes, traces = (*weak, "pointwise", *ambient), tuple(range(order))
        self.traits = Traits("E", order=2 * order, degree=1, modes=modes, weak_traces=traces)

    @property
    def acts_on(self) -> str:
        return self._field

    def reference(self, fields: Fields, at: Location) -> Tensor:
        return apply(multiply(self._symbol, self._symbol), fields[self._field])

    def weak(self, fields: Fields, at: Location) -> Mapping[MultiIndex, Tensor]:
        Lu = apply(self._symbol, fields[self._field])
        return {alpha: s * Lu for alpha, s in self._symbol.items()}

    def ambient(self, basis: Basis, field: str) -> Callable[[Tensor], Tensor]:
        maps = [(c, block.ambient(basis, field)) for c, block in self._parts]

        def L(a: Tensor) -> Tensor:
            return torch.stack([c * F(a) for c, F in maps]).sum(dim=0)

        return lambda a: L(L(a))

    def symbol(self) -> Symbol:
        return multiply(self._symbol, self._symbol)
