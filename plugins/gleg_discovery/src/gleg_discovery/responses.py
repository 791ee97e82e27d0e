"""Responses of mechanisms along smooth paths, by the forward solver's own interface, and their integrals in time.

I_p(t) = ∫_start^t q_p(ẑ(τ), τ) dτ,   q_p at Gauss nodes of every recording, all recordings in one batch
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gleg_core.system.discrete_field import DiscreteField
from gleg_core.system.sources import source_of
from gleg_core.system.terms import Integrals, Term, choose_mode, integrate, linear_matrices, running
from gleg_discovery.legendre import Array, gauss, integration
from gleg_discovery.paths import Paths

_VALUES = 2_000_000
"""Values at nodes (states × nodes) held at once."""
_MOST_NODES = 97
_TAIL = 1e-9
"""Relative size of the last coefficients of a response in time at which its series counts as resolved."""


@dataclass(frozen=True)
class LabelledTerm:
    """A candidate: the terms (parts of one block, say) that share one unknown coefficient. ``keep``: it is in the law for certain.
    ``sign`` of its coefficient if known (+1, −1), else 0; ``known``: the coefficient itself."""

    label: str
    terms: tuple[Term, ...]
    keep: bool = False
    sign: int = 0
    known: float | None = None


class Responses:
    """Mechanisms prepared for many evaluations: matrices of the linear ones are assembled once."""

    def __init__(self, fields: Mapping[str, DiscreteField], terms: Sequence[Term]):
        self.fields, self.terms = dict(fields), tuple(terms)
        sources = {p for p, t in enumerate(terms) if t.block.traits.degree == 0}
        self._sources = {p: source_of(terms[p]) for p in sources}
        self._linear = {p: m for p, t in enumerate(terms) if p not in sources and (m := _matrices(t, fields))}
        self._staged = {
            p: choose_mode(t, fields[t.field])
            for p, t in enumerate(terms)
            if p not in sources and p not in self._linear
        }

    def __call__(self, states: Mapping[str, Tensor], times: Tensor) -> list[Tensor]:
        """q of every term for a batch of states: field → (B, r), times (B, 1); each (B, r_target)."""
        theta = {name: field.theta(times) for name, field in self.fields.items()}
        answers: dict[int, Tensor] = {}
        for p, source in self._sources.items():
            target = self.fields[self.terms[p].field]
            at = target.interior.at.moment(times)
            answers[p] = target.project_values(source(at).expand(len(times), len(at.x)))
        for p, (A, B) in self._linear.items():
            name = str(self.terms[p].block.acts_on)
            q, data = states[name] @ A, theta[name]
            if B is not None and data is not None:
                q = q + data @ B
            answers[p] = torch.as_tensor(self.terms[p].coefficient(t=times)) * q
        if self._staged:
            answers |= self._stage(states, theta, times)
        return [answers[p] for p in range(len(self.terms))]

    def _stage(
        self, states: Mapping[str, Tensor], theta: Mapping[str, Tensor | None], times: Tensor
    ) -> dict[int, Tensor]:
        """Responses that are integrated at the nodes, some states at a time."""
        any_field = next(iter(self.fields.values()))
        at, edge = any_field.interior.at, any_field.boundary.at
        pieces: dict[int, list[Tensor]] = {p: [] for p in self._staged}
        for rows in torch.arange(len(times)).split(max(1, _VALUES // len(at.x))):
            moment = at.moment(times[rows]), edge.moment(times[rows])
            some = {n: (states[n][rows], None if theta[n] is None else theta[n][rows]) for n in self.fields}  # type: ignore[index]
            interior = {n: f.interior.of_state(*some[n]) for n, f in self.fields.items()}
            boundary = {n: f.boundary_jet(*some[n]) for n, f in self.fields.items()}
            for p, mode in self._staged.items():
                term = self.terms[p]
                into = Integrals(self.fields[term.field])
                if mode == "ambient":
                    into.add_response(moment[0](term.coefficient) * _ambient(term, self.fields, some))
                else:
                    integrate(into, term, mode, interior, boundary, *moment)
                pieces[p].append(into.project().expand(len(rows), self.fields[term.field].r))
        return {p: torch.cat(some_q) for p, some_q in pieces.items()}


def respond(
    fields: Mapping[str, DiscreteField], terms: Sequence[Term], states: Mapping[str, Tensor], times: Tensor
) -> list[Tensor]:
    """q of every term for a batch of states, once: see :class:`Responses`."""
    return Responses(fields, terms)(states, times)


def _matrices(term: Term, fields: Mapping[str, DiscreteField]) -> tuple[Tensor, Tensor | None] | None:
    """(A, B) with q = c(t)(z @ A + θ @ B) of a linear mechanism whose coefficient is a function of time alone, else None."""
    if not term.linear or term.block.traits.time_dependent or term.varies_in_space:
        return None
    target = fields[term.field]
    return linear_matrices(term.scaled_by(1.0), choose_mode(term, target), target, fields)


def _ambient(
    term: Term, fields: Mapping[str, DiscreteField], states: Mapping[str, tuple[Tensor, Tensor | None]]
) -> Tensor:
    """NᵀM_Ω F(a) of a nonlinear ambient map."""
    source = fields[str(term.block.acts_on)]
    z, theta = states[source.name]
    a = z @ source.space.N.T
    if theta is not None and source.lift is not None:
        a = a + theta @ source.lift.columns.T
    with running(term):
        return term.block.ambient(source.space.basis, source.name)(a) @ fields[term.field].ambient_projection


def rate_matrix(term: Term, fields: Mapping[str, DiscreteField]) -> Array | None:
    """J (r, r) with q = J z + … of a linear mechanism of its own field, constant in time; None for all others."""
    if term.block.acts_on != term.field or term.coefficient.number is None:
        return None
    matrices = _matrices(term, fields)
    return None if matrices is None else term.coefficient.number * matrices[0].numpy().T


def integrals(paths: Mapping[str, Paths], terms: Sequence[Term]) -> list[list[Array]]:
    """Per recording and term: I_p as a Legendre series (m + 1, r_target) on the window of the recording."""
    if not terms:
        return [[] for _ in next(iter(paths.values())).series]
    d = max(p.degree for p in paths.values())
    degrees = [t.block.traits.degree for t in terms]
    moving = any(p.field.lift is not None and p.field.lift.moving for p in paths.values())
    exact = None not in degrees and not moving and not any(t.varies_in_time for t in terms)
    m = min(_MOST_NODES, max(2, *(q or 4 for q in degrees)) * d + 1)
    while True:
        series = _series(paths, terms, m)
        if exact or 2 * m > _MOST_NODES or _resolved(series):
            break
        m *= 2
    clocks = [s.clock for s in next(iter(paths.values())).series]
    return [[integration(m, clock.length) @ q for q in own] for clock, own in zip(clocks, series, strict=True)]


def _series(paths: Mapping[str, Paths], terms: Sequence[Term], m: int) -> list[list[Array]]:
    """Per recording and term: q_p as a Legendre series (m, r_target)."""
    nodes, analysis = gauss(m)
    synthesis = np.polynomial.legendre.legvander(nodes, m - 1)
    clocks = [s.clock for s in next(iter(paths.values())).series]
    states = {
        name: torch.from_numpy(np.concatenate([synthesis[:, : len(Z)] @ Z for Z in p.Z])) for name, p in paths.items()
    }
    times = torch.from_numpy(np.concatenate([c.times[0] + c.length * (nodes + 1) / 2 for c in clocks]))[:, None]
    answers = respond({name: p.field for name, p in paths.items()}, terms, states, times)
    split = [q.numpy().reshape(len(clocks), m, -1) for q in answers]
    return [[analysis @ q[k] for q in split] for k in range(len(clocks))]


def _resolved(series: Sequence[Sequence[Array]]) -> bool:
    """The last tenth of every response's series is negligible."""
    for p in range(len(series[0])):
        tail = max(float(np.abs(own[p][-max(2, len(own[p]) // 10) :]).max()) for own in series)
        if tail > _TAIL * max(float(np.abs(own[p]).max()) for own in series):
            return False
    return True


def boundary_drift(paths: Paths) -> list[Array] | None:
    """Per recording −θ(t) @ lift_mass as a series (m, r): the part of z that boundary data move by themselves; None if there is none."""
    field = paths.field
    if field.lift is None or not field.lift.moving or field.lift_mass is None:
        return None
    nodes, analysis = gauss(_MOST_NODES // 2)
    found = []
    for s in paths.series:
        times = torch.from_numpy(s.clock.times[0] + s.clock.length * (nodes + 1) / 2)
        theta = field.theta(times[:, None])
        assert theta is not None
        found.append(analysis @ (-theta @ field.lift_mass).numpy())
    return found
