"""Responses of mechanisms along smooth paths, by the forward solver's own interface, and their integrals in time.

I_p(t) = ∫_start^t q_p(ẑ(τ), τ) dτ,   q_p at Gauss nodes of every recording, all recordings in one batch
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from gleg_core.contracts.block import Mode
from gleg_core.expressions import formula
from gleg_core.system.discrete_field import DiscreteField
from gleg_core.system.responses import LinearResponse, Responses, kind
from gleg_core.system.terms import Term, choose_mode, data_matrix, state_matrix
from gleg_discovery.legendre import Array, SampleTimes, gauss, integration
from gleg_discovery.paths import Paths

_MOST_NODES = 97
"""Gauss nodes in time, at most: those of a path of the highest degree, 24, and a response of degree 4."""


@dataclass(frozen=True)
class LabelledTerm:
    """A candidate: the terms (parts of one block, say) that share one unknown coefficient. ``keep``: it is in the law for certain.
    ``sign`` of its coefficient if known (+1, −1), else 0; ``known``: the coefficient itself."""

    label: str
    terms: tuple[Term, ...]
    keep: bool = False
    sign: int = 0
    known: float | None = None


Group = TypeVar("Group", bound=Hashable)


def prepared(fields: Mapping[str, DiscreteField], groups: Mapping[Group, Sequence[Term]]) -> Responses[Group]:
    """The responses of groups of terms for many evaluations; a coefficient that varies in space is part of the matrices."""
    sources: list[tuple[Group, Term]] = []
    linear: list[tuple[Group, LinearResponse]] = []
    staged: list[tuple[Group, Term, Mode]] = []
    for group, term in ((group, term) for group, own in groups.items() for term in own):
        if kind(term) == "source":
            sources.append((group, term))
            continue
        target = fields[term.field]
        mode = choose_mode(term, target)
        if kind(term) == "staged":
            staged.append((group, term, mode))
            continue
        c = formula(1.0) if term.varies_in_space else term.coefficient
        A, B = state_matrix(term.unit, mode, target, fields), data_matrix(term.unit, mode, target, fields)
        linear.append((group, LinearResponse(c, str(term.block.acts_on), term.field, A, B)))
    return Responses(fields, sources, linear, staged)


def respond(responses: Responses[Group], states: Mapping[str, Tensor], times: Tensor) -> dict[Group, Tensor]:
    """Σ q of every group that has terms, for states (B, r) at times (B, 1): (B, r_target)."""
    found = responses.loads(times)
    theta = {name: f.theta(times) for name, f in responses.fields.items()}
    for group, q in responses.to_states(states, theta, times).items():
        found[group] = found[group] + q if group in found else q
    return found


def rate_matrix(term: Term, fields: Mapping[str, DiscreteField]) -> Array | None:
    """J (r, r) with q = J z + … of a linear mechanism of its own field, constant in time; None for all others."""
    if kind(term) != "linear" or term.block.acts_on != term.field or term.coefficient.number is None:
        return None
    target = fields[term.field]
    return state_matrix(term, choose_mode(term, target), target, fields).numpy().T


def integrals(paths: Mapping[str, Paths], groups: Sequence[Sequence[Term]]) -> list[list[Array | None]]:
    """Per recording and group of terms: Σ_p I_p as a Legendre series (m + 1, r_target) on the window of the recording, None for an empty
    group."""
    terms = [t for own in groups for t in own]
    d = max(p.degree for p in paths.values())
    degrees = [t.block.traits.degree for t in terms]
    moving = any(p.field.lift is not None and p.field.lift.moving for p in paths.values())
    exact = None not in degrees and not moving and not any(t.varies_in_time for t in terms)
    m = min(_MOST_NODES, max([2, *(q or 4 for q in degrees)]) * d + 1)
    responses = prepared({name: p.field for name, p in paths.items()}, dict(enumerate(groups)))
    recorded = [s.sample_times for s in next(iter(paths.values())).series]
    while True:
        series = _series(paths, recorded, responses, m)
        if exact or 2 * m > _MOST_NODES or _resolved(series.values()):
            break
        m *= 2
    return [
        [integration(m, own.length) @ series[g][k] if g in series else None for g in range(len(groups))]
        for k, own in enumerate(recorded)
    ]


def _series(
    paths: Mapping[str, Paths], recorded: Sequence[SampleTimes], responses: Responses[int], m: int
) -> dict[int, Array]:
    """Per group: q as a Legendre series of every recording, (K, m, r_target)."""
    nodes, analysis = gauss(m)
    synthesis = np.polynomial.legendre.legvander(nodes, m - 1)
    states = {
        name: torch.from_numpy(np.concatenate([synthesis[:, : len(Z)] @ Z for Z in p.Z])) for name, p in paths.items()
    }
    times = torch.from_numpy(np.concatenate([own.at(nodes) for own in recorded]))[:, None]
    return {g: analysis @ q.numpy().reshape(len(recorded), m, -1) for g, q in respond(responses, states, times).items()}


def _resolved(series: Iterable[Array]) -> bool:
    """The last tenth of every response's series is negligible."""
    return all(np.abs(q[:, -max(2, q.shape[1] // 10) :]).max() <= 1e-9 * np.abs(q).max() for q in series)


def boundary_drift(paths: Paths) -> Sequence[Array | None]:
    """Per recording −θ(t) @ lift_mass as a series (m, r): the part of z that boundary data move by themselves; None if there is none."""
    field = paths.field
    if field.lift is None or not field.lift.moving or field.lift_mass is None:
        return [None] * len(paths.series)
    nodes, analysis = gauss(_MOST_NODES // 2)
    thetas = [field.theta(torch.from_numpy(s.sample_times.at(nodes))[:, None]) for s in paths.series]
    return [analysis @ (-theta @ field.lift_mass).numpy() for theta in thetas if theta is not None]
