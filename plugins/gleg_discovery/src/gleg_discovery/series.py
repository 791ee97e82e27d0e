"""One field in one recording: its sensors, its sample times, and the least-squares fit of a path to it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import scipy.linalg
import torch

from gleg_core.algebra.tables import Tables
from gleg_core.contracts.basis import as_points
from gleg_core.errors import NumericsError, SpecError
from gleg_core.system.discrete_field import DiscreteField
from gleg_discovery.legendre import Array, SampleTimes
from gleg_discovery.observations import Recording

MARGIN = 3
"""Moments kept beyond the highest degree of a path: the regression reads a few degrees more than the path has."""


@dataclass(frozen=True)
class Sensors:
    """Φ (S, r): the functions of the space at the sensors. Recordings with the same sensors share one factorisation."""

    phi: Array
    whole: "Sensors | None" = None
    """These sensors with more functions, of which ``phi`` has the first."""

    @cached_property
    def qr(self) -> tuple[Array, Array]:
        """Φ = Q U. The first columns of Q span those of Φ, so one factorisation serves every rank."""
        if self.whole is not None:
            (Q, U), r = self.whole.qr, self.phi.shape[1]
            return Q[:, :r], U[:r, :r]
        Q, U = scipy.linalg.qr(self.phi, mode="economic", check_finite=False)
        return Q, U

    def cut(self, r: int) -> "Sensors":
        """The first r functions."""
        return Sensors(self.phi[:, :r], self)


@dataclass(frozen=True)
class Drift:
    """What a path leaves over, split in time: ``slow`` is polynomial in time at a sensor (a misfit of the space), ``rest`` is not.

    Each with the number of independent residuals in it.
    """

    rest: float
    rest_number: int
    slow: float
    slow_number: int
    rms: Array


@dataclass(frozen=True)
class Series:
    """``values`` (T, S), the boundary data's share taken off, 0 where nothing was ``observed`` (T, S); None: everything was."""

    name: str
    sensors: Sensors
    sample_times: SampleTimes
    values: Array
    observed: Array | None

    @property
    def complete(self) -> bool:
        return self.observed is None

    @property
    def count(self) -> int:
        """Number of observations."""
        return self.values.size if self.observed is None else int(self.observed.sum())

    @property
    def reporting(self) -> int:
        """Number of sensors that ever report."""
        return self.values.shape[1] if self.observed is None else int(self.observed.any(axis=0).sum())

    def admitted(self, d: int) -> int:
        """The degree d, or the highest that so few times admit."""
        return min(d, max(len(self.sample_times.times) - 2, 1))

    @cached_property
    def moments(self) -> Array:
        """(L, S)."""
        return self.sample_times.Q.T @ self.values

    @cached_property
    def whitened(self) -> Array:
        """Moments of Qᵀy, (L, r): those of U z, with independent noise σ. For complete series."""
        return self.moments @ self.sensors.qr[0]

    @cached_property
    def beyond(self) -> Array:
        """(S,): energy at a sensor of what no moment sees. Computed from the residual: no digits cancel."""
        return ((self.values - self.sample_times.Q @ self.moments) ** 2).sum(axis=0)

    def path(self, d: int) -> Array:
        """Z (d + 1, r): Legendre coefficients of the path of degree d that fits best."""
        if self.complete:
            U = self.sensors.qr[1]
            fitted = scipy.linalg.solve_triangular(U, self.whitened[: d + 1].T, check_finite=False).T
        else:
            fitted = self._fitted(self._factor(d), d)
        return scipy.linalg.solve_triangular(self.sample_times.moments(d + 1)[: d + 1], fitted)

    def whitening(self, read: int) -> tuple[Callable[[Array], Array], Array]:
        """(W, w) with w = W z + σ ε, ε independent, for the moments z (read, r) of the path: all that the observations say about them.

        W maps (read, r, ...) to (read, r, ...), w is (read, r)."""
        if self.complete:
            U = self.sensors.qr[1]
            return lambda z: (U @ z.reshape(*z.shape[:2], -1)).reshape(z.shape), self.whitened[:read]
        L = self._factor(read - 1)

        def whiten(z: Array) -> Array:
            return (L.T @ z.reshape(len(L), -1)).reshape(z.shape)

        return whiten, whiten(self._fitted(L, read - 1))

    def gains(self, d: int, by: Literal["degree", "function"]) -> Array:
        """By how much each degree in time (d + 1,), or each function (r,), lowers the sum of squares of a fit of degree d in time."""
        if self.complete:
            return (self.whitened[: d + 1] ** 2).sum(axis=1 if by == "degree" else 0)
        A, right = self._normal(d), self._right(self.values, d)
        if by == "function":
            A, right = A.transpose(1, 0, 3, 2), right.T
        half = scipy.linalg.solve_triangular(_cholesky(A.reshape(2 * [right.size])), right.ravel(), lower=True)
        return (half.reshape(right.shape) ** 2).sum(axis=1)

    def drift(self, Z: Array) -> Drift:
        d = len(Z) - 1
        fitted = self.sample_times.moments(d + 1)[: d + 1] @ Z
        if not self.complete:
            return self._drift_with_gaps(fitted)
        T, S = self.values.shape
        slow = ((self.moments[: d + 1] - fitted @ self.sensors.phi.T) ** 2).sum(axis=0)
        rest = self.beyond + (self.moments[d + 1 :] ** 2).sum(axis=0)
        rms = np.sqrt((slow + rest) / T)
        outside = S - self.sensors.phi.shape[1]
        return Drift(float(rest.sum()), S * (T - d - 1), float(slow.sum()), outside * (d + 1), rms)

    # --- gaps: unknowns (l, i), moments of the path in the orthonormal polynomials of the times -----------------------------------

    def _normal(self, d: int) -> Array:
        """A_{li,mj} = Σ_s Φ_si Φ_sj Σ_n o_ns Q_nl Q_nm, shape (d + 1, r, d + 1, r)."""
        assert self.observed is not None
        phi, Q = self.sensors.phi, self.sample_times.Q
        pairs = [(k, m) for k in range(d + 1) for m in range(k + 1)]
        weights = self.observed.T.astype(float) @ np.stack([Q[:, k] * Q[:, m] for k, m in pairs], axis=1)  # (S, pairs)
        A = np.empty((d + 1, phi.shape[1], d + 1, phi.shape[1]))
        for (k, m), w in zip(pairs, weights.T, strict=True):
            A[k, :, m] = A[m, :, k] = phi.T @ (w[:, None] * phi)
        return A

    def _factor(self, d: int) -> Array:
        """L with A = L Lᵀ; that of a lower degree is its leading block."""
        return _cholesky(self._normal(d).reshape(2 * [(d + 1) * self.sensors.phi.shape[1]]))

    def _fitted(self, factor: Array, d: int) -> Array:
        """Moments (d + 1, r) of the path that fits best, refined once."""
        fitted = self._solved(factor, self.values, d)
        return fitted + self._solved(factor, self._residual(fitted), d)

    def _right(self, values: Array, d: int) -> Array:
        return (self.sample_times.Q[:, : d + 1].T @ values) @ self.sensors.phi

    def _solved(self, factor: Array, values: Array, d: int) -> Array:
        right = self._right(values, d)
        return scipy.linalg.cho_solve((factor, True), right.ravel(), check_finite=False).reshape(right.shape)

    def _residual(self, fitted: Array) -> Array:
        """y − Φẑ where something was observed, else 0."""
        assert self.observed is not None
        return (self.values - (self.sample_times.Q[:, : len(fitted)] @ fitted) @ self.sensors.phi.T) * self.observed

    def _drift_with_gaps(self, fitted: Array) -> Drift:
        """As for complete series, a polynomial fitted to the residual of every sensor that has times enough."""
        assert self.observed is not None
        n = len(fitted)
        left, counts = self._residual(fitted), self.observed.sum(axis=0)
        with np.errstate(invalid="ignore"):
            rms = np.sqrt((left**2).sum(axis=0) / counts)
        often = np.flatnonzero(counts > 2 * n)
        Q = self.sample_times.Q[:, :n]
        rest = slow = 0.0
        for some in np.array_split(often, max(1, len(often) // 512)):  # each sensor has its own gaps
            seen = self.observed[:, some].T.astype(float)
            gram = (seen @ (Q[:, :, None] * Q[:, None, :]).reshape(len(Q), n * n)).reshape(-1, n, n)
            right = left[:, some].T @ Q
            part = np.linalg.pinv(gram, rcond=1e-10, hermitian=True) @ right[:, :, None]
            smooth = (part[:, :, 0] @ Q.T).T * self.observed[:, some]
            slow += float((smooth**2).sum())
            rest += float(((left[:, some] - smooth) ** 2).sum())
        number, r = int(counts[often].sum()) - n * len(often), self.sensors.phi.shape[1]
        if number < self.count / 10:
            return Drift(0.0, 0, float((left**2).sum()), self.count - fitted.size, rms)
        return Drift(rest, number, slow, max(0, n * (len(often) - r)), rms)


def _cholesky(A: Array) -> Array:
    """Cholesky factor; a trace of the diagonal added keeps it defined, and refinement takes its effect out again."""
    A = A.copy()
    A[np.diag_indices_from(A)] += 1e-13 * np.trace(A) / len(A)
    try:
        return np.linalg.cholesky(A)
    except np.linalg.LinAlgError:
        raise NumericsError("the observations do not determine the paths: too few sensors report at a time") from None


def observe(field: DiscreteField, recordings: Sequence[Recording], moments: int) -> list[Series]:
    """What the recordings say about one field. Those with a single time say nothing about rates and are left out."""
    tables: dict[bytes, tuple[Sensors, Array | None]] = {}
    known: dict[bytes, SampleTimes] = {}
    found = []
    for recording in recordings:
        if field.name not in recording.values:
            raise SpecError(f"recording '{recording.name}' has no values of '{field.name}'")
        if len(recording.times) < 2:
            continue
        where, when = recording.points.tobytes(), recording.times.tobytes()
        if where not in tables:
            tables[where] = sensors_at(field, recording.points)
        if when not in known:
            known[when] = SampleTimes.of(recording.times, moments)
        sensors, lift = tables[where]
        y = np.asarray(recording.values[field.name], dtype=float)
        gaps = np.isnan(y)
        if lift is not None:
            theta = field.theta(torch.as_tensor(recording.times, dtype=torch.float64)[:, None])
            assert theta is not None
            y = y - theta.numpy() @ lift
        if some := bool(gaps.any()):
            y = np.where(gaps, 0.0, y)
        found.append(Series(recording.name, sensors, known[when], y, ~gaps if some else None))
    if not found:
        raise NumericsError("no recording has two times or more: nothing can be said about rates of change")
    return found


def sensors_at(field: DiscreteField, points: Array) -> tuple[Sensors, Array | None]:
    """Functions (S, r) and lift columns (k, S) at the sensors."""
    x, zero, basis = as_points(points), (0,) * field.space.basis.dim, field.space.basis
    lift = None if field.lift is None else Tables(basis, field.lift.columns, x)(zero).numpy()
    return Sensors(np.ascontiguousarray(Tables(basis, field.dense.N, x)(zero).numpy().T)), lift
