"""The regression: coefficients c of the law from observations, in integral form and with free initial states.

    y_n = Φ_n z(t_n) + σ ε_n,      z(t) = z_0 + k(t) + Σ_p c_p I_p(t),      I_p = ∫ q_p(ẑ)

z_0 and c are unknown, k collects known terms. Data are never differentiated, and the noise is that of the observations.
The responses are taken on the noisy path ẑ, though. To first order its error is undone by propagating with the linear
part J of the law: with M = 1 − ∫J the exact path is ẑ + M⁻¹(z_0 + k + Σ c_p I_p − ẑ) up to second order in the error of ẑ, so

    y_n − Φ_n(ẑ − M⁻¹ẑ + M⁻¹k) = Φ_n M⁻¹(z_0 + Σ c_p I_p) + σ ε_n,

a step of the Gauss–Newton method for maximum likelihood: its errors are those of the Cramér–Rao bound, its residuals are white.
J = 0 gives the plain integral form.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.linalg
import scipy.optimize
import scipy.stats

from gleg_core.errors import NumericsError
from gleg_discovery.legendre import Array, integration, padded
from gleg_discovery.series import MARGIN, Series


@dataclass(frozen=True)
class Information:
    """What the data say about c, all that selection needs: triangular ``root`` (P + 1, P + 1) of [F b; bᵀ yy], z_0 eliminated.

    ``parts``: the same for each recording; ``layers``: for each degree in time, with the number of data in it. ``number``: independent
    data after eliminating z_0; ``tested``: those among them in the degrees that the regression reads. ``sigma``: noise of an observation.
    """

    labels: tuple[str, ...]
    root: Array
    parts: tuple[Array, ...]
    layers: tuple[tuple[Array, int], ...]
    number: int
    tested: int
    sigma: float

    @property
    def F(self) -> Array:
        """(P, P): F⁻¹σ² is the covariance of the estimate, and the Cramér–Rao bound if the path is the true one."""
        return self.design.T @ self.design

    @property
    def design(self) -> Array:
        return self.root[:-1, :-1]

    @property
    def right(self) -> Array:
        return self.root[:-1, -1]

    @property
    def least(self) -> float:
        """Sum of squares that no c can remove."""
        return float(self.root[-1, -1] ** 2)

    @property
    def chi2(self) -> float:
        """Residual variance of the fit with all candidates divided by σ²: 1 if the law and the space explain the data."""
        return self.least / max(1, self.tested - len(self.labels)) / self.sigma**2

    @cached_property
    def lack(self) -> float:
        """Largest residual variance of a degree in time divided by σ², 1 if all are within four standard deviations of noise. What the
        space or the candidates lack shows in the slow degrees first, and would drown in the average over all."""
        c = np.append(-np.linalg.lstsq(self.design, self.right, rcond=None)[0], 1.0)
        ratios = [(float(((root @ c) ** 2).sum()) / self.sigma**2 / n, n) for root, n in self.layers]
        return max((q for q, n in ratios if q > 1 + 4 * np.sqrt(2 / n)), default=1.0)

    @property
    def variance(self) -> float:
        """σ², raised to what the residuals show if they show more."""
        return self.sigma**2 * self.lack

    @property
    def condition(self) -> float:
        """Condition number of F with columns scaled to unit norm."""
        norms = np.linalg.norm(self.design, axis=0)
        return float(np.linalg.cond(self.design / norms) ** 2) if norms.all() else float("inf")

    def fixed(self, values: dict[str, float]) -> "Information":
        """With these coefficients known: their terms move to the other side."""
        gone = [self.labels.index(label) for label in values]
        stay = [p for p in range(len(self.labels)) if p not in gone]
        c = np.array(list(values.values()))

        def moved(root: Array) -> Array:
            return triangle(np.column_stack([root[:, stay], root[:, -1] - root[:, gone] @ c]))

        return replace(
            self,
            labels=tuple(self.labels[p] for p in stay),
            root=moved(self.root),
            parts=tuple(map(moved, self.parts)),
            layers=tuple((moved(root), n) for root, n in self.layers),
        )

    def resampled(self, chosen: Iterable[int]) -> "Information":
        """Of these recordings only, each as often as it is listed."""
        parts = tuple(self.parts[k] for k in chosen)
        return replace(self, root=triangle(np.concatenate(parts)), parts=parts)


def triangle(rows: Array) -> Array:
    """R (n, n) with RᵀR = rowsᵀrows."""
    n = rows.shape[1]
    return scipy.linalg.qr(padded(rows, max(n, len(rows))), mode="r", check_finite=False)[0][:n]


@dataclass(frozen=True)
class Fit:
    """Coefficients of ``labels`` by least squares: ``c`` (n,), ``covariance`` (n, n), 95 % ``intervals`` (n, 2)."""

    labels: tuple[str, ...]
    c: Array
    covariance: Array
    intervals: Array
    rss: float

    @classmethod
    def of(cls, labels: Iterable[str], c: Array, covariance: Array, rss: float, freedom: int) -> "Fit":
        """With Student's intervals for so many degrees of freedom."""
        reach = scipy.stats.t.ppf(0.975, max(1, freedom)) * np.sqrt(np.diag(covariance))
        return cls(tuple(labels), c, covariance, np.column_stack([c - reach, c + reach]), rss)

    @property
    def estimates(self) -> dict[str, tuple[float, float, tuple[float, float]]]:
        """Label → coefficient, standard error and interval."""
        ends = ((float(low), float(high)) for low, high in self.intervals)
        return dict(zip(self.labels, zip(self.c.tolist(), self.errors.tolist(), ends, strict=True), strict=True))

    @property
    def errors(self) -> Array:
        """Standard errors."""
        return np.sqrt(np.diag(self.covariance))


def fit_coefficients(
    info: Information, support: Sequence[int] | None = None, signs: Sequence[int] | None = None
) -> Fit:
    """Least squares on a subset of the candidates; ``signs`` (P,) bound coefficients to one side (0: free)."""
    chosen = list(range(len(info.labels)) if support is None else support)
    X, y = info.design[:, chosen], info.right
    norms = np.linalg.norm(X, axis=0)
    if not norms.all():
        silent = [info.labels[p] for p, norm in zip(chosen, norms, strict=True) if norm == 0]
        raise NumericsError(f"the data do not excite {', '.join(silent)} at all: leave it out, or record other states")
    scaled = X / norms
    sign = np.zeros(len(chosen)) if signs is None else np.array(signs)[chosen]
    if sign.any():
        bounds = np.where(sign > 0, 0.0, -np.inf), np.where(sign < 0, 0.0, np.inf)
        beta = scipy.optimize.lsq_linear(scaled, y, bounds, tol=1e-14).x
    else:
        beta = np.linalg.lstsq(scaled, y, rcond=None)[0]
    inverse = np.linalg.pinv(scaled, rcond=1e-15)
    covariance = info.variance * (inverse @ inverse.T) / np.outer(norms, norms)
    c = beta / norms
    rss = info.least + float(((y - X @ c) ** 2).sum())
    return Fit.of((info.labels[p] for p in chosen), c, covariance, rss, info.tested - len(chosen))


class Propagation:
    """M⁻¹ with M = 1 − ∫J: a ↦ the solution of ẋ = J x + ȧ, x(start) = a(start).

    In the eigenvectors of a symmetric J one system of n equations per mode; else in Schur coordinates, one mode after another.
    """

    def __init__(self, J: Array):
        # J acts on the error of the path only, so it need not be exact
        self._symmetric = bool(np.abs(J - J.T).max() <= 1e-6 * np.abs(J).max())
        if self._symmetric:
            self._T, self._Z = np.linalg.eigh((J + J.T) / 2)
        else:
            self._T, self._Z = scipy.linalg.schur(J, output="complex")

    def __call__(self, series: Array, length: float) -> Array:
        """For Legendre series a (n, r, k) on a window of this length."""
        n, r, k = series.shape
        T, Z, S = self._T, self._Z, integration(n, length)[:n]
        x = np.tensordot(Z.conj(), series, axes=(0, 1))  # (r, n, k)
        if self._symmetric:
            x = np.linalg.solve(np.eye(n) - T[:, None, None] * S, x)
        else:
            for i in reversed(range(r)):
                coupled = (T[i, i + 1 :] @ x[i + 1 :].reshape(r - i - 1, n * k)).reshape(n, k)
                x[i] = np.linalg.solve(np.eye(n) - T[i, i] * S, x[i] + S @ coupled)
        return np.tensordot(Z, x, axes=1).real.transpose(1, 0, 2)


def regress(
    series: Sequence[Series],
    paths: Sequence[Array],
    integrals: Sequence[Sequence[Array]],
    known: Sequence[Array | None],
    labels: Sequence[str],
    degree: int,
    sigma: float,
    J: Array | None = None,
) -> Information:
    """Information on the coefficients of one field. Per recording: the series, its path (d + 1, r), the integrals I_p (n_p, r) and the
    known part k (n, r) of z or None, all as Legendre series."""
    P, R = len(labels), series[0].sensors.phi.shape[1]
    n = max(len(a) for own in (*integrals, paths, [k for k in known if k is not None]) for a in own)
    parts: dict[int, Array] = {}
    layers: list[list[Array]] = [[] for _ in range(degree + MARGIN - 1)]
    number = tested = 0
    propagation = None if J is None else Propagation(J)
    n += 0 if J is None else 12  # degrees that propagation adds to those of the integrals
    for group in _alike(series):
        s = series[group[0]]
        stacked = np.zeros((n, R, len(group), P + 1))
        for g, k in enumerate(group):
            for p, I in enumerate(integrals[k]):  # noqa: E741 (the integrals of the equations)
                stacked[: len(I), :, g, p] = I
            if (fixed := known[k]) is not None:
                stacked[: len(fixed), :, g, P] = fixed
        starts = np.zeros((n, R, R))
        starts[0] = np.eye(R)
        if propagation is not None:
            Z = np.stack([padded(paths[k], n) for k in group], axis=2)
            stacked[..., P] -= Z
            stacked = propagation(stacked.reshape(n, R, -1), s.sample_times.length).reshape(stacked.shape)
            stacked[..., P] += Z
            starts = propagation(starts, s.sample_times.length)
        read = min(len(s.sample_times.times), s.admitted(degree) + MARGIN)
        rows = _rows([series[k] for k in group], stacked, starts, read)
        for of_degree, layer in zip(rows[1:], layers, strict=False):
            layer.append(of_degree.reshape(-1, P + 1))
        parts |= {k: triangle(rows[:, :, g].reshape(-1, P + 1)) for g, k in enumerate(group)}
        tested += len(group) * R * (read - 1)
        number += sum(min(series[k].count, R * len(s.sample_times.times)) - R for k in group)
    ordered = tuple(parts[k] for k in sorted(parts))
    by_degree = tuple((triangle(rows), len(rows)) for rows in map(np.concatenate, filter(None, layers)))
    return Information(tuple(labels), triangle(np.concatenate(ordered)), ordered, by_degree, number, tested, sigma)


def _alike(series: Sequence[Series]) -> list[list[int]]:
    """Complete recordings with the same sensors and times; every other one by itself."""
    groups: dict[object, list[int]] = {}
    for k, s in enumerate(series):
        groups.setdefault((id(s.sensors), id(s.sample_times)) if s.complete else k, []).append(k)
    return list(groups.values())


def _rows(series: Sequence[Series], stacked: Array, starts: Array, read: int) -> Array:
    """[X | y] in whitened moments, z_0 projected out: (read, r, K, P + 1)."""
    n, r, K, columns = stacked.shape
    H = series[0].sample_times.moments(n)[:read]
    whiten, _ = series[0].whitening(read)
    rows = whiten((H @ stacked.reshape(n, -1)).reshape(read, r, K, columns))
    rows[..., -1] = np.stack([s.whitening(read)[1] for s in series], axis=2) - rows[..., -1]
    free = whiten((H @ starts.reshape(n, -1)).reshape(read, r, r)).reshape(-1, r)
    Q = scipy.linalg.qr(free, mode="economic", check_finite=False)[0]
    rows = rows.reshape(read * r, -1)
    for _ in range(2):  # the second pass removes the rounding errors of the first
        rows -= Q @ (Q.T @ rows)
    return rows.reshape(read, r, K, columns)
