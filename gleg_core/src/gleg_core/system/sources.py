"""What an equation contains that depends on place and time but not on the state: sources, manufactured forcing, moving data."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gleg_core.algebra.boundary_system import expression_jet, spread
from gleg_core.contracts.jet import Jet
from gleg_core.contracts.location import Location
from gleg_core.errors import SpecError
from gleg_core.expressions import Evaluator, Expression, formula
from gleg_core.system.discrete_field import DiscreteField
from gleg_core.system.terms import Integrals, Realised, Term, blamed_on, check_finite, checked, integrate

AT_ONCE = 80_000
"""Points × times evaluated at once: keeps every intermediate of a formula in the processor's cache."""

NodalSource = Callable[[Location], Tensor]
"""A function of place and time only: (n,), or (T, n) for a column of times."""


def source_values(term: Term, at: Location) -> Tensor:
    """c(x, t) f(x, t) of a term that does not read the fields."""
    with blamed_on(term):
        values = term.block.reference({}, at)
    if term.scale is not None:
        raise SpecError(f"{term.where}: the coefficient of a source cannot differ within a batch")
    values = at(term.coefficient) * checked(values, term, at.x)
    check_finite(term, values, at)
    return values


@dataclass(frozen=True)
class ManufacturedForcing:
    """f = ∂u*/∂t − Σ c_i L_i(u*) in the equation of ``field``, with exact derivatives; without ∂u*/∂t if ``steady``."""

    field: str
    exact: Mapping[str, Expression]
    terms: Sequence[Term]
    steady: bool = False
    weak: bool = False
    """True: mechanisms with a weak form enter the load by it. Only derivatives are then needed which the equation itself needs, so that
    solutions with kinks, where f is unbounded, can be prescribed; but a wrong weak form would go unnoticed."""
    _read: list[list[Expression]] = dataclasses.field(default_factory=list, init=False, repr=False, compare=False)
    """Derivatives of the exact solutions that the mechanisms read, once they are known: they are evaluated together."""

    def __call__(self, at: Location) -> Tensor:
        """f at the points, from the blocks' references."""
        evaluator = at.evaluator()
        jets = self._jets(at, evaluator)
        f = self._rate(at, evaluator)
        for term in self.terms:
            if term.field == self.field:
                f = f - term.reference(jets, at)
        return f

    def load(self, target: DiscreteField, modes: Realised, times: Tensor) -> Tensor:
        """∫ f φ_i at a column of times (T, 1), shape (T, r)."""
        if not self._read:
            self._read.extend(self._reading(target, modes, times[:1]))
        loads = []
        for at in target.interior.at.moments(times, AT_ONCE):
            both = at, target.boundary.at.moment(at.t)
            evaluators = [place.evaluator() for place in both]
            for evaluator, formulas in zip(evaluators, self._read, strict=True):
                evaluator.together(formulas)
            loads.append(self._integrands(target, modes, both, evaluators).project())
        return torch.cat(loads)

    def _reading(self, target: DiscreteField, modes: Realised, time: Tensor) -> list[list[Expression]]:
        """Derivatives that the mechanisms read in Ω and on ∂Ω. To see them they are run once, with a number for each."""
        both = target.interior.at.moment(time), target.boundary.at.moment(time)
        evaluators = _Noting({}), _Noting({})
        self._integrands(target, modes, both, evaluators)
        return [list(evaluator.asked) for evaluator in evaluators]

    def _integrands(
        self, target: DiscreteField, modes: Realised, both: tuple[Location, Location], evaluators: Sequence[Evaluator]
    ) -> Integrals:
        """At points and times of Ω, and the same times on ∂Ω."""
        at, edge = both
        inside, rim = (self._jets(place, evaluator) for place, evaluator in zip(both, evaluators, strict=True))
        into = Integrals(target)
        into.add((0,) * at.dim, self._rate(at, evaluators[0]))
        for term, mode in modes:
            if term.field != self.field:
                continue
            law = term.block.law if self.weak and mode == "weak" else None
            if law is None or "weak" not in law.traits.modes:
                into.add((0,) * at.dim, spread(-term.reference(inside, at), at))
            else:
                exact = replace(term, block=law, coefficient=formula("-c", (), {"c": term.coefficient}))
                integrate(into, exact, "weak", inside, rim, at, edge)
        return into

    def _rate(self, at: Location, evaluator: Evaluator) -> Tensor:
        return spread(0.0 if self.steady else evaluator(self.exact[self.field].d("t")), at)

    def _jets(self, at: Location, evaluator: Evaluator) -> dict[str, Jet]:
        return {name: expression_jet(u, at, evaluator) for name, u in self.exact.items()}


class _Noting(Evaluator):
    """Notes what it is asked for, and evaluates nothing."""

    def __call__(self, expression: Expression) -> float:
        self.asked[expression] = None
        return 0.5


class TabulatedInTime:
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

    def forget(self) -> None:
        """What is known: the next values are those on the other side of a jump."""
        self._known = {}

    def __call__(self, t: float | Tensor) -> Tensor:
        """The value at ``t``, shape (R,), or (T, R) for a column of times: prepared, or evaluated now."""
        if isinstance(t, Tensor):
            return torch.stack([self(moment) for moment in t[:, 0].tolist()])
        found = self._known.get(round(t / self._resolution)) if self._known else None
        return found if found is not None else self._function(torch.tensor([[t]], dtype=torch.float64))[0]
