"""From sensors to smooth paths:  y_sn = lift + Σ_i φ_i(x_s) z_i(t_n) + σ ε_sn   →   ẑ(t) = Σ_{l≤d} Z_l P_l(t), with r, d and σ.

All decisions are taken on moments in time (:class:`~gleg_discovery.legendre.SampleTimes`). Where every sensor reports at every time the
problem decouples: with Φ = Q U the moments of Qᵀy are those of U z, with independent noise σ. Otherwise normal equations are solved.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from gleg_core.errors import NumericsError
from gleg_core.system.discrete_field import DiscreteField
from gleg_discovery.legendre import Array
from gleg_discovery.observations import FUNCTIONS_PER_SENSOR, Recording
from gleg_discovery.series import MARGIN, Drift, Series, observe
from gleg_discovery.smooth_space import smoothest_first

_HIGHEST = 24
"""Highest degree in time that is tried."""


@dataclass(frozen=True)
class Paths:
    """Smooth paths of one field: per recording ``Z`` (d + 1, r), Legendre coefficients on the window of the recording."""

    field: DiscreteField
    """In the space that was used."""
    series: tuple[Series, ...]
    degree: int
    sigma: float
    """Standard deviation of the noise of one observation."""
    Z: tuple[Array, ...]
    misfit: float
    """RMS at the sensors of what is steady or slow and not in the space, beyond what noise explains."""
    residuals: tuple[Array, ...]
    """Per recording (S,): RMS over time of y − Φẑ, NaN for a sensor that never reports."""

    @property
    def rank(self) -> int:
        return self.field.r

    @property
    def starts(self) -> Array:
        """(K, r): where the paths begin, P_l(−1) = (−1)^l."""
        return np.stack([(-1.0) ** np.arange(len(Z)) @ Z for Z in self.Z])


def fit_paths(
    field: DiscreteField,
    recordings: Sequence[Recording],
    rank: int | None = None,
    degree: int | None = None,
    noise: float | None = None,
) -> Paths:
    """Smooth paths of one field in the ``rank`` smoothest functions of its space. What is None is chosen from the data: the rank by
    generalised cross-validation, the degree as the highest whose energy noise does not explain."""
    reporting = (int(np.isfinite(k.values[field.name]).any(axis=0).sum()) for k in recordings)
    most = max(1, int(FUNCTIONS_PER_SENSOR * min(reporting))) if rank is None else rank
    if most < field.r:
        field = smoothest_first(field, most)
    series = observe(field, recordings, _HIGHEST + MARGIN)
    if rank is None and (best := _choose_rank(series, degree or _choose_degree(series))) < field.r:
        field = field.rotated(torch.eye(field.r, dtype=torch.float64)[:, :best])
        cut = {id(s.sensors): s.sensors.cut(best) for s in series}
        series = [replace(s, sensors=cut[id(s.sensors)]) for s in series]
    for s in series:
        if s.complete and s.values.shape[1] < field.r:
            raise NumericsError(
                f"recording '{s.name}' has {s.values.shape[1]} sensors, too few for the {field.r} functions of '{field.name}': "
                "choose a smaller space.rank"
            )
    d = degree or _choose_degree(series)
    Z = tuple(s.path(s.admitted(d)) for s in series)
    drifts = [s.drift(path) for s, path in zip(series, Z, strict=True)]
    sigma = noise or _noise(drifts, series)
    return Paths(field, tuple(series), d, sigma, Z, _misfit(drifts, series, sigma), tuple(q.rms for q in drifts))


def _choose_rank(series: Sequence[Series], d: int) -> int:
    """argmin_r RSS(r)/(1 − r/S)² for the fit in space of all moments up to degree d."""
    gains = np.sum([s.gains(s.admitted(d), "function") for s in series], axis=0)
    outside = sum(s.drift(s.path(s.admitted(d))).slow for s in series)
    rss = outside + np.append(np.cumsum(gains[::-1])[::-1], 0.0)[1:]
    r = np.arange(1, len(gains) + 1)
    sensors = np.mean([s.reporting for s in series])
    return int(r[np.argmin(np.maximum(rss, _least_variance(series)) / (1 - r / sensors) ** 2)])


def _choose_degree(series: Sequence[Series]) -> int:
    """The highest degree whose energy in the space exceeds that of noise by four standard deviations. Gaps make high degrees costly: they
    are tried if low ones are all found significant."""
    for most in (_HIGHEST,) if all(s.complete for s in series) else (_HIGHEST // 4, _HIGHEST // 2, _HIGHEST):
        energy, number = np.zeros(most + 1), np.zeros(most + 1)
        drifts = []
        for s in series:
            D, r = s.admitted(most), s.sensors.phi.shape[1]
            if not s.complete:  # what they determine, by at most 4000 normal equations
                D = min(D, max(1, int(min(4000, s.count / 2) / r) - 1))
            energy[: D + 1] += s.gains(D, "degree")
            number[: D + 1] += r
            drifts.append(s.drift(s.path(D)))
        excess = energy / _noise(drifts, series) ** 2 - number
        found = np.flatnonzero(excess > 4 * np.sqrt(2 * np.maximum(number, 1)))
        d = max(1, int(found.max(initial=1)))
        if d <= most - 2:
            break
    return d


def _least_variance(series: Sequence[Series]) -> float:
    """Data are never taken to be more exact than 1e-11 of their RMS: tables, and whatever made them, are not."""
    return 1e-22 * sum(float((s.values**2).sum()) for s in series) / sum(s.count for s in series)


def _noise(drifts: Sequence[Drift], series: Sequence[Series]) -> float:
    """σ from what is left in time at every sensor, so that a misfit of the space does not count; from all that is left if no sensor
    has times enough."""
    rest, number = sum(q.rest for q in drifts), sum(q.rest_number for q in drifts)
    if number <= 0:
        rest, number = sum(q.slow for q in drifts), sum(q.slow_number for q in drifts)
    if number <= 0:
        raise NumericsError("there are not more observations than unknowns of the paths: noise cannot be estimated")
    return float(np.sqrt(max(rest / number, _least_variance(series))))


def _misfit(drifts: Sequence[Drift], series: Sequence[Series], sigma: float) -> float:
    excess = sum(q.slow - sigma**2 * q.slow_number for q in drifts)
    return float(np.sqrt(max(0.0, excess) / sum(s.count for s in series)))
