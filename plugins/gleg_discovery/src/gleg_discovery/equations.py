"""The regression problem of one field: integrals of its candidates, what is known of its path, and the law to propagate with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gleg_core.errors import SpecError
from gleg_core.system.terms import Term
from gleg_discovery.legendre import Array, padded
from gleg_discovery.paths import Paths
from gleg_discovery.regression import Information, regress
from gleg_discovery.responses import LabelledTerm, boundary_drift, integrals, rate_matrix


@dataclass(frozen=True)
class Equation:
    """z = z_0 + k + Σ_p c_p I_p of one field along the ``paths`` of all fields.

    ``columns``: per recording the I_p; ``left``: per recording k or None; ``rates``: per candidate its linear part J_p (r, r), if it
    has one, and ``rate`` that of the known terms.
    """

    candidates: tuple[LabelledTerm, ...]
    paths: Paths
    columns: Sequence[Sequence[Array]]
    left: Sequence[Array | None]
    rates: Sequence[Array | None]
    rate: Array | None

    @property
    def known(self) -> dict[str, float]:
        """Coefficients that are given."""
        return {c.label: c.known for c in self.candidates if c.known is not None}

    @property
    def unknown(self) -> tuple[LabelledTerm, ...]:
        return tuple(c for c in self.candidates if c.known is None)

    def information(self, c: Mapping[str, float] | None = None) -> Information:
        """On the unknown coefficients; propagated with the linear part of the law ``c``, or in plain integral form."""
        p, labels = self.paths, [o.label for o in self.candidates]
        J = None if c is None else self._linear_part(c)
        info = regress(p.series, p.Z, self.columns, self.left, labels, p.degree, p.sigma, J)
        return info.fixed(self.known) if self.known else info

    def _linear_part(self, c: Mapping[str, float]) -> Array | None:
        parts = [c[o.label] * J for o, J in zip(self.candidates, self.rates, strict=True) if J is not None]
        J = _sum([*parts, self.rate])
        return None if J is None else _tamed(J, max(s.sample_times.length for s in self.paths.series))


def equations(
    paths: Mapping[str, Paths], candidates: Mapping[str, Sequence[LabelledTerm]], known: Sequence[Term]
) -> dict[str, Equation]:
    """For every field with candidates. All responses are computed in one batch."""
    for name, own in candidates.items():
        if name not in paths or not own:
            raise SpecError(f"'{name}' has candidates but no space" if own else f"'{name}' has no candidates")
    fields = {name: p.field for name, p in paths.items()}
    groups = [(name, c.terms) for name, own in candidates.items() for c in own]
    groups += [(name, tuple(t for t in known if t.field == name)) for name in candidates]
    summed = integrals(paths, [terms for _, terms in groups])
    rates = [_sum([rate_matrix(t, fields) for t in terms]) for _, terms in groups]
    found, start = {}, 0
    for position, (name, own) in enumerate(candidates.items(), start=len(groups) - len(candidates)):
        here = slice(start, start + len(own))
        left = [_sum([row[position], q]) for row, q in zip(summed, boundary_drift(paths[name]), strict=True)]
        columns = [[q for q in k[here] if q is not None] for k in summed]
        found[name] = Equation(tuple(own), paths[name], columns, left, rates[here], rates[position])
        start = here.stop
    return found


def _sum(series: Sequence[Array | None]) -> Array | None:
    """Of series of different length; None if there are none."""
    known = [q for q in series if q is not None]
    return np.sum([padded(q, max(map(len, known))) for q in known], axis=0) if known else None


def _tamed(J: Array, length: float) -> Array:
    """J without growth beyond e within a window, which only a poor first estimate has."""
    values, Q = np.linalg.eigh((J + J.T) / 2)
    excess = np.maximum(values - 1 / length, 0.0)
    return J - (Q * excess) @ Q.T if excess.any() else J
