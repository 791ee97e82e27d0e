"""Planning an experiment: how well will it determine the coefficients of a law that is guessed?

Recordings are rolled out with the guess from random smooth states, and the Fisher information of the readings, initial states unknown,
gives the standard error of every coefficient before anything is measured.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gleg_core.contracts.domain import Domain
from gleg_core.errors import NumericsError, SpecError
from gleg_core.spec.problem import Problem, load_problem
from gleg_core.system.discrete_field import DiscreteField
from gleg_core.threads import one_thread
from gleg_discovery.discover import labelled, whole_spaces
from gleg_discovery.dynamics import Dynamics, Flow, Windows, hermite, resolved_flow
from gleg_discovery.legendre import Array
from gleg_discovery.observations import FUNCTIONS_PER_SENSOR
from gleg_discovery.regression import triangle
from gleg_discovery.sections import PlanSection, ProblemKeys
from gleg_discovery.sensitivity import Metric, Readings, factor, sensitivities
from gleg_discovery.series import Sensors, sensors_at
from gleg_discovery.smooth_space import smoothest_first

_EXAMPLE = """    fields:
      u:
        candidates:
          - {dictionary: paper-six, guess: {Δu: 0.04, u: 0.06, u³: -0.35}}     # those without a guess: 0
    plan: {window: 0.012, sensors: 240, samples: 241, recordings: 16}"""


@dataclass(frozen=True)
class Row:
    """One coefficient: its standard error, and that relative to the guess (None for a guess of 0)."""

    field: str
    label: str
    guess: float
    error: float
    relative: float | None


@dataclass(frozen=True)
class Alternative:
    """The least ``value`` of ``what`` (sensors, window or recordings; the rest as planned) that reaches the target; if ``reached`` is
    False, the largest that was tried. ``worst``: the largest relative error there."""

    what: str
    value: float
    reached: bool
    worst: float


@dataclass(frozen=True)
class ExperimentPlan:
    """What the planned experiment will tell. ``noise`` is relative to ``rms``, the root mean square of each field's readings, so that
    σ = noise · rms; ``alternatives`` are for ``target``, None if it is not given or reached."""

    noise: float
    target: float | None
    sensors: int
    window: float
    samples: int
    recordings: int
    rank: Mapping[str, int]
    rms: Mapping[str, float]
    rows: tuple[Row, ...]
    alternatives: tuple[Alternative, ...] = ()

    @property
    def misses(self) -> tuple[Row, ...]:
        """Coefficients that miss the target."""
        return tuple(
            r for r in self.rows if self.target is not None and r.relative is not None and r.relative > self.target
        )


def plan(source: str | Path | Mapping[str, Any] | Problem, noise: float, target: float | None = None) -> ExperimentPlan:
    """Standard errors for readings with noise of ``noise`` times the root mean square of their field; with ``target``, what else would
    determine every coefficient whose guess is not 0 to that relative standard error."""
    problem = load_problem(source)
    with problem.located(), torch.no_grad(), one_thread():
        return _plan(problem, noise, target)


def _plan(problem: Problem, noise: float, target: float | None) -> ExperimentPlan:
    for name, number in (("noise", noise), ("target", target)):
        if number is not None and not 0 < number < math.inf:
            raise SpecError(f"{name} must be a positive number such as 0.001 or 5%, found {number:g}")
    experiment = _experiment(problem)
    section, dynamics = experiment.section, experiment.recordings.dynamics
    sigma = {name: noise * rms for name, rms in experiment.rms.items()}

    def rows_of(experiment: "_Experiment") -> tuple[Row, ...]:
        pairs = zip(experiment.recordings.guess.tolist(), experiment.errors(sigma).tolist(), strict=True)
        return tuple(
            Row(*label, g, e, e / abs(g) if g != 0 else None)
            for label, (g, e) in zip(dynamics.labels, pairs, strict=True)
        )

    def worst(rows: tuple[Row, ...]) -> float:
        return max(r.relative for r in rows if r.relative is not None)

    rows = rows_of(experiment)
    rank = {name: field.r for name, field in dynamics.fields.items()}
    found = ExperimentPlan(
        noise, target, section.sensors, section.window, section.samples, section.recordings, rank, experiment.rms, rows
    )  # fmt: skip
    if target is None or not found.misses:
        return found
    now = worst(rows)
    more = math.ceil(section.recordings * (now / target) ** 2)
    alternatives = (
        _least("window", section.window, now, target, section.window * 64, lambda w: worst(rows_of(experiment.over(w)))),
        _least("sensors", section.sensors, now, target, 100_000, lambda n: worst(rows_of(experiment.seen_by(math.ceil(n))))),
        Alternative("recordings", more, True, now * math.sqrt(section.recordings / more)),
    )  # fmt: skip
    return replace(found, alternatives=alternatives)


def _least(
    what: str, value: float, worst: float, target: float, most: float, worst_at: Callable[[float], float]
) -> Alternative:
    """The least value at which the worst error, which falls, is the target: doubled until there, then interpolated between the last two
    along a power law and computed there once more."""
    while not worst <= target:
        before, worse, value = value, worst, 2 * value
        if value > most:
            return Alternative(what, before, False, worse)
        try:
            worst = worst_at(value)
        except NumericsError:  # the guessed law cannot be followed so long
            return Alternative(what, before, False, worse)
    power = math.log2(worse / worst)
    between = _rounded_up(before * (worse / target) ** (1 / power))
    if between < value and (there := worst_at(between)) <= 1.02 * target:
        return Alternative(what, between, True, there)
    return Alternative(what, value, True, worst)


def _rounded_up(value: float) -> float:
    """To two digits."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / unit * (1 - 1e-9)) * unit:.12g}")


@dataclass(frozen=True)
class _Recordings:
    """What a guessed law does from some initial states, whoever looks."""

    dynamics: Dynamics
    expected: Dynamics
    """With the guessed coefficients as known ones, and nothing else."""
    guess: Tensor
    starts: Tensor
    times: Array

    @cached_property
    def flow(self) -> Flow:
        windows = Windows.of([self.times] * len(self.starts))
        flow, stride = resolved_flow(self.expected, self.starts, self.guess[:0], windows, 1e-5)
        return flow.coarser(stride)

    @cached_property
    def sensitivities(self) -> list[Array]:
        return [sensitivities(self.dynamics, self.flow, self.guess, k) for k in range(len(self.starts))]

    @cached_property
    def at_times(self) -> Array:
        """Values and rates at the nodes of the flow → values at the times."""
        return hermite(self.times, self.flow.windows.nodes(0, self.flow.steps))


@dataclass(frozen=True)
class _Experiment:
    """Recordings of a guessed law as sensors see them: everything that standard errors follow from."""

    section: PlanSection
    domain: Domain
    recordings: _Recordings

    def over(self, window: float) -> "_Experiment":
        """With another window, readings as often as now."""
        interval = self.section.window / (self.section.samples - 1)
        samples = max(3, round(window / interval) + 1)
        section = self.section.model_copy(update={"window": window, "samples": samples})
        times = _times(section, float(self.recordings.times[0]))
        return replace(self, section=section, recordings=replace(self.recordings, times=times))

    def seen_by(self, sensors: int) -> "_Experiment":
        return replace(self, section=self.section.model_copy(update={"sensors": sensors}))

    @cached_property
    def _tables(self) -> dict[str, tuple[Sensors, Array | None]]:
        """Functions and lift columns of every field at the sensors."""
        points = np.array(list(islice(evenly_spread_points(self.domain), self.section.sensors)))
        return {name: sensors_at(field, points) for name, field in self.recordings.dynamics.fields.items()}

    @cached_property
    def rms(self) -> dict[str, float]:
        """Of the readings of every field, boundary data included."""
        made, found = self.recordings, {}
        H = torch.from_numpy(made.at_times)
        for name, (sensors, lift) in self._tables.items():
            theta = made.dynamics.fields[name].theta(torch.from_numpy(made.times)[:, None])
            known = 0.0 if lift is None or theta is None else theta.numpy() @ lift
            squares = [
                ((H @ made.flow.stacked(k)[:, made.dynamics.slices[name]]).numpy() @ sensors.phi.T + known) ** 2
                for k in range(len(made.starts))
            ]
            found[name] = float(np.sqrt(np.mean(squares)))
        return found

    def errors(self, sigma: Mapping[str, float]) -> Array:
        """Standard errors (P,) of the coefficients."""
        W, nothing = triangle(self.recordings.at_times), np.zeros((0, 0))
        readings = {n: Readings(W, sensors.qr[1] / sigma[n], nothing, None) for n, (sensors, _) in self._tables.items()}
        dynamics = self.recordings.dynamics
        pieces = [factor(readings, dynamics, S) for S in self.recordings.sensitivities]
        return np.sqrt(np.diag(Metric.of(pieces, dynamics.size).covariance))


def _times(section: PlanSection, start: float) -> Array:
    return start + section.window / (section.samples - 1) * np.arange(section.samples)


def evenly_spread_points(domain: Domain) -> Iterator[Array]:
    """Points strictly inside Ω, evenly spread however many are taken: the additive sequence of the generalised golden ratio."""
    ratio = 2.0
    for _ in range(60):  # the root of g^(d+1) = g + 1
        ratio = (1 + ratio) ** (1 / (domain.dim + 1))
    steps = ratio ** -np.arange(1.0, domain.dim + 1)
    low, high = domain.bounds.T
    first = 1
    while True:
        unit = (0.5 + np.arange(first, first + 4096)[:, None] * steps) % 1.0
        points = low + (high - low) * unit
        yield from points[domain.contains(points)]
        first += 4096


def _experiment(problem: Problem) -> _Experiment:
    candidates, terms, known = labelled(problem)
    section = problem.keys(ProblemKeys).plan
    guesses = {(c.field, c.label): float(c.guess or 0.0) for own in candidates.values() for c in own}
    if section is None or not any(guesses.values()):
        missing = "no section 'plan'" if section is None else "no candidate has a guess of its coefficient"
        raise SpecError(f"{missing}. A plan needs an experiment and a law to expect, such as\n{_EXAMPLE}")
    spaces = whole_spaces(problem, [*known, *(t for own in terms.values() for c in own for t in c.terms)])
    fields = {f.name: _truncated(problem, f, section.sensors) for f in spaces.fields}
    dynamics = Dynamics(fields, terms, known)
    law = {
        name: [replace(c, known=guesses[name, c.label] if c.known is None else c.known) for c in own]
        for name, own in terms.items()
    }
    start = problem.section.time.start
    states = torch.cat([_states(problem, f, section, start) for f in fields.values()], dim=1)
    guess = torch.tensor([guesses[key] for key in dynamics.labels], dtype=torch.float64)
    recordings = _Recordings(dynamics, Dynamics(fields, law, known), guess, states, _times(section, start))
    return _Experiment(section, spaces.domain, recordings)


def _truncated(problem: Problem, field: DiscreteField, sensors: int) -> DiscreteField:
    """The field in its smoothest functions: as many as the file says, else as discovery would use for so many sensors."""
    given = problem.section.space.rank
    count = min(field.r, given if given != "auto" else max(1, int(FUNCTIONS_PER_SENSOR * sensors)))
    if sensors < count:
        text = f"{sensors} sensors are too few for the {count} functions of '{field.name}' that space.rank asks for"
        raise SpecError(text).at("plan", "sensors")
    return smoothest_first(field, count)


def _states(problem: Problem, field: DiscreteField, section: PlanSection, start: float) -> Tensor:
    """Initial states (K, r) of one field: random coordinates of the smoothest functions, scaled to the amplitudes in turn, beside the
    boundary data's share; the first is the state that the file gives, if it does."""
    random, zero = np.random.default_rng([0, *field.name.encode()]), (0,) * field.space.basis.dim
    j = np.arange(1, field.r + 1)
    falling = np.where(j <= section.modes, j**-0.35, 0.0)
    states = torch.from_numpy(random.standard_normal((section.recordings, field.r)) * falling)
    largest = (states @ field.interior.functions(zero)).abs().amax(dim=1, keepdim=True)
    amplitudes = np.resize(section.amplitudes, (section.recordings, 1))
    states = states * torch.from_numpy(amplitudes) / largest
    given = next(f.section.initial for f in problem.fields if f.name == field.name)
    if given is not None:
        at = field.interior.at.moment(start)
        states[0] = field.state_of(at(given).expand(len(at.x)), field.theta(start))
    return states
