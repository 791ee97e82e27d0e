"""Responses q(z, t) of terms: c(x, t) L(u) in reduced coordinates, for many states at once.

* A *source* depends on place and time alone;
* a *linear* term is c(t) (z @ A + θ @ B), with matrices that are made once;
* every other one is *staged*: fields are synthesised at the nodes, and its integrands there are projected.

Terms come in groups of one field each, and the answer is the sum over every group. All staged terms share one synthesis of each field and
derivative, those of a group one projection per test derivative: the groups of a solver are its equations, those of a regression single
candidates.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, TypeVar

import torch
from torch import Tensor

from gleg_core.algebra.boundary_system import spread
from gleg_core.contracts.block import Mode
from gleg_core.expressions import Expression
from gleg_core.matmul import matmul
from gleg_core.system.discrete_field import DiscreteFields
from gleg_core.system.sources import AT_ONCE, source_values
from gleg_core.system.terms import Integrals, Term, blamed_on, integrate

VALUES_AT_ONCE = 500_000
"""States × nodes evaluated at once, so that they stay in the processor's cache."""

Group = TypeVar("Group", bound=Hashable)


def kind(term: Term) -> Literal["source", "linear", "staged"]:
    """How a term is evaluated."""
    if term.block.traits.degree == 0:
        return "source"
    varies_in_both = {"t"} < term.coefficient.free
    return "linear" if term.linear and not term.block.traits.time_dependent and not varies_in_both else "staged"


@dataclass(frozen=True)
class LinearResponse:
    """c (z_source @ A + θ_source @ B) in the equation of ``target``; c is a function of time, or a factor (..., 1) for every member of
    a batch. Without A its part in z is elsewhere."""

    coefficient: Expression | Tensor
    source: str
    target: str
    A: Any
    B: Tensor | None

    def at(self, t: float | Tensor) -> Tensor | float:
        """c at one time, or at a column of times (T, 1)."""
        return self.coefficient(t=t) if isinstance(self.coefficient, Expression) else self.coefficient

    def __call__(self, z: Tensor, theta: Tensor | None, t: float | Tensor) -> Tensor:
        parts = [matmul(x, M) for x, M in ((z, self.A), (theta, self.B)) if x is not None and M is not None]
        return self.at(t) * sum(parts[1:], parts[0])


@dataclass(frozen=True)
class Responses(Generic[Group]):
    """The responses of groups of terms, sorted and prepared for many evaluations. A state is a batch (..., r) for every field."""

    fields: DiscreteFields
    sources: Sequence[tuple[Group, Term]] = ()
    linear: Sequence[tuple[Group, LinearResponse]] = ()
    staged: Sequence[tuple[Group, Term, Mode]] = ()

    def loads(self, times: Tensor) -> dict[Group, Tensor]:
        """Σ q of the sources of every group at a column of times (T, 1): (T, r_target)."""
        groups: dict[Group, list[Term]] = {}
        for group, term in self.sources:
            groups.setdefault(group, []).append(term)
        found = {}
        for group, terms in groups.items():
            target = self.fields[terms[0].field]
            moments = target.interior.at.moments(times, AT_ONCE)
            values = [spread(sum(source_values(term, at) for term in terms), at) for at in moments]
            found[group] = target.project_values(torch.cat(values))
        return found

    def to_states(
        self, states: Mapping[str, Tensor], theta: Mapping[str, Tensor | None], t: float | Tensor
    ) -> dict[Group, Tensor]:
        """Σ q of the linear and staged terms of every group, (..., r_target); θ and t are those of all states, or one for each of a batch.
        Of a large batch some states at a time are staged."""
        linear = [(group, q(states[q.source], theta[q.source], t)) for group, q in self.linear]
        if not self.staged:
            return _sums(linear)
        batch = next(iter(states.values())).shape[:-1]
        some = max(1, VALUES_AT_ONCE // max(len(f.space.weights) for f in self.fields.values()))
        if len(batch) != 1 or batch[0] <= some:
            return _sums([*linear, *self._stage(states, theta, t).items()])
        pieces = []
        for first in range(0, batch[0], some):
            rows = slice(first, first + some)
            staged = [(group, replace(term, scale=_rows(term.scale, rows)), mode) for group, term, mode in self.staged]
            z, data = ({name: _rows(x, rows) for name, x in given.items()} for given in (states, theta))
            pieces.append(replace(self, staged=staged)._stage(z, data, _rows(t, rows)))
        return _sums([*linear, *((group, torch.cat([piece[group] for piece in pieces])) for group in pieces[0])])

    def _stage(
        self, states: Mapping[str, Tensor], theta: Mapping[str, Tensor | None], t: float | Tensor
    ) -> dict[Group, Tensor]:
        """Every field and derivative is synthesised once, every test derivative of a group projected once."""
        any_field = next(iter(self.fields.values()))
        at, edge = any_field.interior.at.moment(t), any_field.boundary.at.moment(t)
        interior = {n: f.interior.of_state(states[n], theta[n]) for n, f in self.fields.items()}
        boundary = {n: f.boundary_jet(states[n], theta[n]) for n, f in self.fields.items()}
        integrals: dict[Group, Integrals] = {}
        for group, term, mode in self.staged:
            target = self.fields[term.field]
            into = integrals.setdefault(group, Integrals(target))
            if mode == "ambient":
                source = self.fields[str(term.block.acts_on)]
                a = source.ambient_coefficients(states[source.name], theta[source.name])
                with blamed_on(term):
                    F = term.block.ambient(source.space.basis, source.name)
                    into.add_response(term.factor(at) * matmul(F(a), target.ambient_projection))
            else:
                integrate(into, term, mode, interior, boundary, at, edge)
        batch = next(iter(states.values())).shape[:-1]
        return {group: own.project().expand(*batch, -1) for group, own in integrals.items()}


def _sums(responses: Iterable[tuple[Group, Tensor]]) -> dict[Group, Tensor]:
    total: dict[Group, Tensor] = {}
    for group, q in responses:
        total[group] = total[group] + q if group in total else q
    return total


def _rows(value: Any, rows: slice) -> Any:
    """The part of a value that belongs to some members of a batch; the value itself if it is the same for all."""
    return value[rows] if isinstance(value, Tensor) and value.ndim == 2 else value
