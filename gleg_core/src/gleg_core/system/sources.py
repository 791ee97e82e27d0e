"""What an equation contains that depends on place and time but not on the state: sources, manufactured forcing, moving data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from gleg_core.algebra.boundary_system import expression_jet, spread
from gleg_core.contracts.location import Location
from gleg_core.expressions import Expression
from gleg_core.system.terms import Term

NodalSource = Callable[[Location], Tensor]
"""A function of place and time only: (n,), or (T, n) for a column of times."""


def source_of(term: Term) -> NodalSource:
    """c(x, t) f(x, t) of a term that does not read the fields."""
    return lambda at: term.reference({}, at)


def manufactured_forcing(
    field: str, exact: Mapping[str, Expression], terms: Sequence[Term], steady: bool = False
) -> NodalSource:
    """f = ∂u*/∂t − Σ c_i L_i(u*) from the blocks' references, evaluated with exact derivatives; without ∂u*/∂t if steady."""
    own = [term for term in terms if term.field == field]

    def forcing(at: Location) -> Tensor:
        jets = {name: expression_jet(u, at) for name, u in exact.items()}
        f = spread(0.0 if steady else at(exact[field].d("t")), at)
        for term in own:
            f = f - term.reference(jets, at)
        return f

    return forcing


class Ahead:
    """A function of time evaluated for many times at once and looked up one at a time.

    ``function`` maps a column of times (T, 1) to values (T, R).
    """

    def __init__(self, function: Callable[[Tensor], Tensor]):
        self._function = function
        self._known: dict[int, Tensor] = {}
        self._resolution = 1.0

    def prepare(self, times: Sequence[float], resolution: float) -> None:
        """Evaluate at ``times``, and forget all others. Times closer than ``resolution`` count as equal."""
        if resolution != self._resolution:  # keys are multiples of the resolution
            self._known, self._resolution = {}, resolution
        wanted = {round(t / resolution): t for t in times}
        self._known = {k: v for k, v in self._known.items() if k in wanted}
        missing = [k for k in wanted if k not in self._known]
        if missing:
            column = torch.tensor([[wanted[k]] for k in missing], dtype=torch.float64)
            self._known.update(zip(missing, self._function(column), strict=True))

    def __call__(self, t: float) -> Tensor:
        """The value at ``t``, shape (R,): prepared, or evaluated now."""
        found = self._known.get(round(t / self._resolution)) if self._known else None
        return found if found is not None else self._function(torch.tensor([[t]], dtype=torch.float64))[0]
