"""Refinement of a discovered law by maximum likelihood: coefficients c and initial states z_0k that minimise

    χ² = Σ |y − lift − Φ z(t; c, z_0)|²/σ²

with z(t; c, z_0) the rollout itself. No path is smoothed first, so that neither a long window nor large noise biases the result. Gradients
are exact, by differentiating through the rollout. The variables are those in which the Fisher information (see
:mod:`gleg_discovery.sensitivity`) is the identity: a step of length 1 is one of Gauss and Newton, a distance of 1 a standard error.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
import torch
from torch import Tensor

from gleg_core.errors import NumericsError, SpecError
from gleg_core.system.terms import Term
from gleg_discovery.dynamics import Dynamics, Flow, Windows, resolved_flow, roll
from gleg_discovery.identify import Identification
from gleg_discovery.legendre import Array
from gleg_discovery.observations import Recording
from gleg_discovery.regression import Fit
from gleg_discovery.responses import LabelledTerm
from gleg_discovery.sensitivity import Metric, Readings, factor, sensitivities
from gleg_discovery.series import observe


@dataclass(frozen=True)
class Refinement:
    """``c`` (P,) of ``labels``, (field, label) each, with ``covariance`` (P, P); ``states``: initial state (K, r) of every field.

    ``before`` and ``after``: χ² over the whole window divided by ``number``, that of independent data it compares, with the law and the
    states that were given and with the refined ones; 1 for a law that explains the data.
    """

    labels: tuple[tuple[str, str], ...]
    c: Array
    covariance: Array
    states: Mapping[str, Array]
    before: float
    after: float
    number: int
    converged: bool
    evaluations: int

    @property
    def errors(self) -> Array:
        """Standard errors."""
        return np.sqrt(np.diag(self.covariance))

    def fit(self, field: str) -> Fit:
        """The coefficients of one field, as a regression would give them."""
        mine = [p for p, (name, _) in enumerate(self.labels) if name == field]
        labels, covariance = (self.labels[p][1] for p in mine), self.covariance[np.ix_(mine, mine)]
        return Fit.of(labels, self.c[mine], covariance, self.after * self.number, self.number)


def refine(
    recordings: Sequence[Recording],
    found: Identification,
    candidates: Mapping[str, Sequence[LabelledTerm]],
    known: Sequence[Term] = (),
) -> Refinement:
    """Coefficients of the terms that ``found`` kept, refined on ``recordings``: those it was found from, or longer ones of the same
    experiments. The window then grows from the one to the other by doubling. Known signs are not imposed."""
    recordings = [k for k in recordings if len(k.times) > 1]
    fields = {name: p.field for name, p in found.paths.items()}
    kept = {name: [c for c in own if c.label in found.laws[name].coefficients] for name, own in candidates.items()}
    dynamics = Dynamics(fields, kept, known)
    sigma = {name: p.sigma for name, p in found.paths.items()}
    c = np.array([found.laws[name].coefficients[label] for name, label in dynamics.labels])
    given = c, _starts(found, recordings)
    known_window = max(s.sample_times.length for p in found.paths.values() for s in p.series)
    whole = max(float(k.times[-1] - k.times[0]) for k in recordings)
    c, z, evaluations, window, converged = *given, 0, 0.0, False
    while window < whole:
        window, likelihood = _next_window(
            window, known_window, whole, lambda w: Likelihood(dynamics, [_cut(k, w) for k in recordings], sigma), c, z
        )
        c, z, converged, tried = _maximise(likelihood, c, z, states_only=window < 0.99 * known_window)
        evaluations += tried
    before, after = (likelihood.misfit(*some) / likelihood.number for some in (given, (c, z)))
    covariance = likelihood.metric(c, z).covariance * max(1.0, after)
    states = {name: z[:, s] for name, s in dynamics.slices.items()}
    return Refinement(dynamics.labels, c, covariance, states, before, after, likelihood.number, converged, evaluations)


def _starts(found: Identification, recordings: Sequence[Recording]) -> Array:
    """(K, R): the smooth paths where they begin."""
    starts = [dict(zip((s.name for s in p.series), p.starts, strict=True)) for p in found.paths.values()]
    if missing := [k.name for k in recordings if any(k.name not in own for own in starts)]:
        raise SpecError(f"recording '{missing[0]}' is not among those the law was found from")
    return np.array([np.concatenate([own[k.name] for own in starts]) for k in recordings])


def _next_window(
    last: float, known: float, whole: float, likelihood: "Callable[[float], Likelihood]", c: Array, z: Array
) -> "tuple[float, Likelihood]":
    """The next window to refine on: first the one that the law was found on, then twice the last, at most the ``whole``; less where the
    law cannot be followed so far from states that are not refined yet."""
    window = min(known if last < known else 2 * last, whole)
    while True:
        found = likelihood(window)
        try:
            found.follow(c, z)
            return window, found
        except NumericsError as error:
            window = (last + window) / 2
            if window < max(1.02 * last, known / 100):
                raise NumericsError(f"the law that was found cannot be refined: {error}") from error


def _cut(recording: Recording, window: float) -> Recording:
    """Its first part."""
    n = max(3, int(np.searchsorted(recording.times, recording.times[0] + window * (1 + 1e-9), side="right")))
    return replace(recording, times=recording.times[:n], values={f: v[:n] for f, v in recording.values.items()})


class Likelihood:
    """χ² = −2 log likelihood of recordings as a function of c (P,) and z (K, R), and its metric. A rollout has as many steps as the last
    metric needed: ``metric`` comes first."""

    def __init__(self, dynamics: Dynamics, recordings: Sequence[Recording], sigma: Mapping[str, float]):
        self.dynamics, self._sigma = dynamics, sigma
        self._series = {name: observe(field, recordings, 1) for name, field in dynamics.fields.items()}
        self._windows = Windows.of([k.times for k in recordings])
        self._steps = 0
        told = min(
            sigma[name] / np.sqrt(sum(float((s.values**2).sum()) for s in own)) for name, own in self._series.items()
        )
        self._tolerance = float(np.clip(0.01 * told, 1e-12, 1e-4))  # 1 % of what all readings together can tell

    @property
    def number(self) -> int:
        """Of independent data that χ² compares."""
        compared = sum(own.count for readings in self._readings for own in readings.values())
        unknown = len(self._readings) * self.dynamics.size + len(self.dynamics.labels)
        return max(1, compared - unknown)

    def _observed(self, steps: int) -> list[dict[str, Readings]]:
        """Per recording and field, as seen from the nodes of a rollout."""
        nodes = [self._windows.nodes(k, steps) for k in range(len(self._windows.starts))]
        series = self._series.items()
        return [{name: Readings.of(own[k], x, self._sigma[name]) for name, own in series} for k, x in enumerate(nodes)]

    def follow(self, c: Array, z: Array) -> None:
        """Refuse a law that, rolled out to the end of the window, does not stay near the data."""
        flow, _ = self._flow(c, z)
        for name, own in self._series.items():
            area = float(self.dynamics.fields[name].space.weights.sum())
            size = max(float(np.abs(s.values).max()) for s in own) * area**0.5
            if float(flow.states[..., self.dynamics.slices[name]].abs().max()) > 10 * size:
                raise NumericsError(f"rolled out, '{name}' becomes 10 times as large as the readings")

    def _flow(self, c: Array, z: Array) -> tuple[Flow, int]:
        return resolved_flow(self.dynamics, torch.from_numpy(z), torch.from_numpy(c), self._windows, self._tolerance)

    def metric(self, c: Array, z: Array) -> Metric:
        """The information on (z, c). Fixes the number of steps."""
        law, (flow, stride) = torch.from_numpy(c), self._flow(c, z)
        if flow.steps != self._steps:
            self._steps, self._readings = flow.steps, self._observed(flow.steps)
        coarse, observed = flow.coarser(stride), self._observed(flow.steps // stride)
        factors = [
            factor(own, self.dynamics, sensitivities(self.dynamics, coarse, law, k)) for k, own in enumerate(observed)
        ]
        return Metric.of(factors, self.dynamics.size)

    def misfit(self, c: Array, z: Array) -> float:
        """χ²; infinite where the law cannot be followed."""
        with torch.no_grad():
            return self._chi2(torch.from_numpy(c), torch.from_numpy(z))[0]

    def gradient(self, c: Array, z: Array) -> tuple[float, Array, Array]:
        """χ²/2 with its derivatives (P,) and (K, R); infinite, without them, where the law cannot be followed."""
        with torch.enable_grad():
            law, start = (torch.from_numpy(a).requires_grad_() for a in (c, z))
            value, total = self._chi2(law, start)
            if not np.isfinite(value):
                return value, c, z
            by_c, by_z = (g.numpy() for g in torch.autograd.grad(total / 2, (law, start)))
        blown = max(np.abs(by_c).max(initial=0.0), np.abs(by_z).max()) > 1e100  # a law that blows up
        return (float("inf") if blown else value / 2), by_c, by_z

    def _chi2(self, c: Tensor, z: Tensor) -> tuple[float, Tensor]:
        flow = roll(self.dynamics, z, c, self._windows, self._steps)
        total = c.new_zeros(())
        for k, readings in enumerate(self._readings):
            x = flow.stacked(k)
            for name, own in readings.items():
                W, phi, Y = map(torch.from_numpy, (own.W, own.phi, own.Y))
                off = W @ x[:, self.dynamics.slices[name]] @ phi.T - Y
                total = total + ((off if own.seen is None else off[torch.from_numpy(own.seen)]) ** 2).sum()
        value = float(total.detach())
        return value if np.isfinite(value) else float("inf"), total


def _maximise(likelihood: Likelihood, c: Array, z: Array, states_only: bool) -> tuple[Array, Array, bool, int]:
    """The optimum (c, z) near the given one, c held if ``states_only``, whether it was reached, and the number of rollouts it took. The
    metric is computed anew after 15 iterations, at most six times."""
    tried = 0
    for _ in range(6):
        change = _Whitened(likelihood.metric(c, z), c, z, states_only)

        def objective(w: Array, change: "_Whitened" = change) -> tuple[float, Array]:
            value, by_c, by_z = likelihood.gradient(*change.point(w))
            return value, change.gradient(by_c, by_z) if np.isfinite(value) else w

        w, reached, count = quasi_newton(objective, np.zeros(c.size + z.size), 15)
        c, z = change.point(w)
        tried += count
        if reached or not w.any():
            break
    return c, z, reached, tried


class _Whitened:
    """Variables w about (c, z) in which a metric is the identity: w_k = A_k δz_k + B_k δc, w = C δc; without w if c is held."""

    def __init__(self, metric: Metric, c: Array, z: Array, held: bool):
        self._held = held
        self._c, self._z, self._law = c, z, _regular(metric.law)
        self._starts = [(_regular(A), B) for A, B in metric.starts]

    def point(self, w: Array) -> tuple[Array, Array]:
        K, R = self._z.shape
        dc = np.zeros_like(self._c) if self._held else scipy.linalg.solve_triangular(self._law, w[K * R :])
        dz = [
            scipy.linalg.solve_triangular(A, own - B @ dc)
            for own, (A, B) in zip(w[: K * R].reshape(K, R), self._starts, strict=True)
        ]
        return self._c + dc, self._z + np.array(dz)

    def gradient(self, by_c: Array, by_z: Array) -> Array:
        found = []
        for own, (A, B) in zip(by_z, self._starts, strict=True):
            found.append(scipy.linalg.solve_triangular(A, own, trans="T"))
            by_c = by_c - B.T @ found[-1]
        law = np.zeros_like(by_c) if self._held else scipy.linalg.solve_triangular(self._law, by_c, trans="T")
        return np.concatenate([*found, law])


def _regular(R: Array) -> Array:
    """A triangular factor with its smallest diagonal entries raised, where the data tell nothing."""
    diagonal = np.diag(R)
    least = 1e-8 * np.abs(diagonal).max()
    return R + np.diag(np.where(np.abs(diagonal) < least, np.copysign(least, diagonal) - diagonal, 0.0))


def quasi_newton(
    objective: Callable[[Array], tuple[float, Array]], w: Array, iterations: int
) -> tuple[Array, bool, int]:
    """Minimum of a function whose second derivative is near the identity, by the L-BFGS method: w, whether it is one, evaluations. The
    search ends within 1e-3 of the optimum, or where a step may not lower the value by 1e-9 of it; within 0.1 if rounding stops it."""
    value, g = objective(w)
    evaluations = 1
    memory: list[tuple[Array, Array]] = []
    for _ in range(iterations):
        if g @ g <= max(1e-6, 1e-9 * value):
            return w, True, evaluations
        direction, length = -_scaled(g, memory), 1.0
        while True:
            there, slope = objective(w + length * direction)
            evaluations += 1
            if there <= value + 1e-4 * length * (g @ direction):
                break
            length /= 4
            if length < 1e-4:
                return w, bool(g @ g <= 0.01), evaluations
        step, change = length * direction, slope - g
        if step @ change > 1e-12 * (step @ step):
            memory = [*memory, (step, change)][-12:]
        w, value, g = w + step, there, slope
    return w, bool(g @ g <= max(1e-6, 1e-9 * value)), evaluations


def _scaled(g: Array, memory: Sequence[tuple[Array, Array]]) -> Array:
    """The inverse second derivative that the last steps suggest, applied to g."""
    q, weights = g, []
    for s, y in reversed(memory):
        weights.append((s @ q) / (s @ y))
        q = q - weights[-1] * y
    for (s, y), a in zip(memory, reversed(weights), strict=True):
        q = q + (a - (y @ q) / (s @ y)) * s
    return q
