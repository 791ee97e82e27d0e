"""What the steps of a run leave: by their own local errors, and by what happens between them.

**Controlled steps** come with estimates of their local errors, relative to ‖u‖; their sum bounds the error of whatever does not amplify
it. **Fixed steps** are compared with two of half the length from some saved states; the difference, times their number, takes its place.
**Between steps** a formula of time may do what no step has seen, a pulse for instance. What the steps saw of each formula, joined by
cubics, is compared with the formula at many times. Where that misses a pulse, controlled steps are taken once more, with stops around it.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from gleg_core.contracts.integrator import Integrator
from gleg_core.coordinates import COORDINATES
from gleg_core.estimate import ErrorMap, Part
from gleg_core.expressions import Expression
from gleg_core.run import Run
from gleg_core.spec.switching import stated_formulas, switching_of

_SAMPLES, _SHARE = 4, 0.1
"""Saved states from which fixed steps are compared with halves, and the part of all steps that this may take."""
_TIMES, _NUMBERS = 20_000, 80_000
"""Times at which formulas are looked at, and values of one of them, times and places together, at most."""
_PLACES = 16
"""Nodes at which formulas of time and place are looked at."""
_FAINTEST = 1e-9
"""Fields fainter than this part of all together need not be followed as exactly."""
_PULSE, _STOPPED, _EDGE = 1e-2, 0.1, 0.05
"""Parts of a formula's integral over time that steps may miss, and controlled ones that stop where the problem says so, for these look
closely there; and part of the widest gap at which a pulse begins and ends."""
_STOPS = 300
"""Moments at which steps are made to stop, at most: more of them are no pulses."""


def parts(run: Run) -> Iterator[Part]:
    if run.trajectory.steps:
        if run.choice is None or math.isinf(run.choice.time_error):  # else trials have told
            yield _of_steps(run)
        yield from _between_steps(run)


def _of_steps(run: Run) -> Part:
    section = run.problem.section.time
    if section.step == "auto":
        helps = f"try  time: {{tolerance: {section.tolerance / 100:.0g}}}"
        nowhere = np.empty((0, run.discretisation.domain.dim))
        summed = np.cumsum(run.trajectory.step_errors)
        when = ErrorMap(nowhere, np.empty(0), np.array(run.trajectory.reached_at), summed)
        return Part("time", float(summed[-1]), "the length of the time steps", helps, map=when)
    error, moment = _by_halves(run, float(section.step))
    return Part(
        "time", error, "the length of the time steps", f"try  time: {{step: {float(section.step) / 4:.2g}}}", (), moment
    )


def _by_halves(run: Run, step: float) -> tuple[float, float]:
    """The sum of the local errors of fixed steps, from those of a few, and when they are largest."""
    system, integrator = run.discretisation.system, run.integrator
    start, end = float(run.times[0]), float(run.times[-1])
    h = min(step, (end - start) / 2)
    count = (integrator.order if integrator.starting_nodes else 0) + 1
    affordable = int(_SHARE * run.trajectory.steps / (3 * count))
    samples = min(max(affordable, 1), _SAMPLES)
    last = len(run.times) - 2
    chosen = sorted(
        {int(i) for i in np.linspace(last / (2 * samples), last * (1 - 1 / (2 * samples)), samples).round()}
    )
    found = []
    sizes = torch.stack([system.full_norms(run.state(t), t) for t in map(float, run.times)]).amax(dim=0)
    sizes = torch.maximum(sizes, _FAINTEST * sizes.norm()).clamp(min=1e-300)
    for i in chosen:
        t = min(float(run.times[i]), end - count * h)
        if t < start:
            return 0.0, start  # fewer steps than a method needs to start
        z = run.state(t)
        coarse, fine = (_stepped(run, integrator, z, t, h / n, n * count) for n in (1, 2))
        share = 1.0 - 2.0**-integrator.order
        whole = torch.maximum(
            sizes, system.norms(fine)
        )  # more than the run has seen, where its steps went over a pulse
        found.append((float((system.norms(coarse - fine) / whole).max()) / share / count, t))
    errors = [error for error, _ in found]
    return float(np.mean(errors)) * (end - start) / h, max(found)[1]


def _stepped(run: Run, integrator: Integrator, z: torch.Tensor, t: float, h: float, count: int) -> torch.Tensor:
    system = run.discretisation.system
    system.forget()
    nodes = (*integrator.nodes, *integrator.starting_nodes)
    system.prepare([t + (k + c) * h for k in range(count) for c in nodes], 1e-6 * h)
    step = integrator.stepper(system, h)
    for k in range(count):
        z, _ = step(z, t + k * h)
    return z


def _between_steps(run: Run) -> Iterator[Part]:
    for gap in _gaps(run):
        helps = f"try  time: {{stops: {[float(f'{t:.6g}') for t in gap.stops]}}}"
        about = f"what the steps saw of '{gap.formula}'"
        yield Part("time", gap.missed, about, helps, (), gap.moment, _PULSE)


def stops(run: Run) -> list[float]:
    """Where steps should end so that they see what they missed of formulas; nothing if that is more than a few moments."""
    found = sorted({t for gap in _gaps(run) for t in gap.stops})
    return found if len(found) <= _STOPS else []


@dataclass(frozen=True)
class _Gap:
    """The part of ∫|f|dt that the steps ``missed``, the ``moment`` when most is missing, and ``stops`` around all such moments."""

    formula: Expression
    missed: float
    moment: float
    stops: tuple[float, ...]


def _gaps(run: Run) -> Iterator[_Gap]:
    """Formulas of which the steps missed more than they may."""
    seen, section = _seen(run), run.problem.section.time
    if len(seen) < 4:
        return
    stretches = switching_of(run.problem).stretches(seen[0], seen[-1])
    for formula in dict.fromkeys(f for f in stated_formulas(run.problem) if "t" in f.free):
        gap = _missed(formula, seen, stretches, _places(run, formula))
        if gap.missed > (_STOPPED if section.stops and section.step == "auto" else _PULSE):
            yield gap


def _seen(run: Run) -> np.ndarray:
    """The times at which the steps asked for sources, without those beside switches."""
    reached = np.array([float(run.times[0]), *run.trajectory.reached_at])
    nodes = np.array(run.integrator.nodes)
    return np.unique(
        np.round(np.concatenate([reached, (reached[:-1, None] + np.diff(reached)[:, None] * nodes).ravel()]), 14)
    )


def _places(run: Run, formula: Expression) -> dict[str, np.ndarray]:
    if not formula.free & set(COORDINATES):
        return {}
    nodes = next(iter(run.discretisation.system.fields.values())).space.nodes.x.numpy()
    rows = np.random.default_rng(0).choice(len(nodes), min(_PLACES, len(nodes)), replace=False)
    return {name: nodes[rows, k][:, None] for k, name in enumerate(COORDINATES[: nodes.shape[1]])}


def _missed(
    formula: Expression, seen: np.ndarray, stretches: Sequence[tuple[float, float]], places: dict[str, np.ndarray]
) -> _Gap:
    """∫|f − f̃|dt / ∫|f|dt, f̃ the curves between switches through what was seen, at the place where it is largest."""
    count = min(_TIMES, _NUMBERS // (_PLACES if places else 1))
    grid = np.linspace(seen[0], seen[-1], count + 1)

    def values(t: np.ndarray) -> np.ndarray:
        rows = np.broadcast_to(formula(t=t, **places), (len(next(iter(places.values()), [0])), len(t)))
        return np.nan_to_num(rows, nan=0.0, posinf=0.0, neginf=0.0)

    times, gaps, sizes = [], [], []
    for start, end in stretches:
        inner = grid[(grid > start) & (grid < end)]
        known = np.unique([start, *seen[(seen > start) & (seen < end)], end])
        f = values(inner)
        times.append(inner)
        gaps.append(np.abs(f - _joined(known, values(known), inner)))
        sizes.append(np.abs(f))
    gap = np.concatenate(gaps, axis=1)
    size = float(np.concatenate(sizes, axis=1).mean(axis=1).max())
    worst, at = gap[int(gap.mean(axis=1).argmax())], np.concatenate(times)
    wide = np.flatnonzero(worst > _EDGE * worst.max())
    pulses = np.split(wide, np.flatnonzero(np.diff(wide) > 1) + 1)
    around = sorted({float(at[i]) for p in pulses if len(p) for i in (p[0], p[worst[p].argmax()], p[-1])})
    return _Gap(formula, float(worst.mean()) / max(size, 1e-300), float(at[worst.argmax()]), tuple(around))


def _joined(known: np.ndarray, values: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Hermite's cubics through values (k, n) at the n times ``known``, at other times between them: (k, m)."""
    slopes = np.gradient(values, known, axis=1, edge_order=2 if len(known) > 2 else 1)
    i = np.clip(np.searchsorted(known, times, side="right") - 1, 0, len(known) - 2)
    h = np.diff(known)[i]
    s = (times - known[i]) / h
    return (
        values[:, i] * (1 + 2 * s) * (1 - s) ** 2
        + values[:, i + 1] * s**2 * (3 - 2 * s)
        + h * s * (1 - s) * (slopes[:, i] * (1 - s) - slopes[:, i + 1] * s)
    )
