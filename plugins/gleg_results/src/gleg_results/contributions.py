"""The error of a run separated into best approximation, Galerkin, time and the reference's own.

    u − u* = (u − u_Δ)  +  (u_Δ − P u*)  +  (P u* − u*)
              time          Galerkin         best approximation

P u* is the function of a_bc(t) + range N closest to u*, u_Δ the solution of the same reduced system with the error of the time
steps removed by Richardson extrapolation. Each part is a norm relative to ‖u*‖.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gleg_core.algebra.boundary_system import spread
from gleg_core.run import Run
from gleg_core.system.discrete_field import DiscreteField
from gleg_core.system.rollout import rollout
from gleg_core.threads import one_thread
from gleg_results.coordinates import coefficients, column, synthesis
from gleg_results.truth import Truth

Progress = Callable[[float], None]


@dataclass(frozen=True)
class Refined:
    """The extrapolated states at some of the saved times, by their index, and how they were found."""

    states: dict[int, Tensor]
    how: str


def refine(run: Run, frames: Sequence[int], progress: Progress = lambda t: None) -> Refined:
    """Repeat the rollout with half the step, or a tenth of the tolerance, and extrapolate to none: with q the factor by which the
    error falls (2^order, or 10), z_Δ = z' + (z' − z)/(q − 1)."""
    section, kept = run.problem.section.time, sorted({0, *frames})
    times = [run.trajectory.times[i] for i in kept]
    if section.step == "auto":
        step, tolerance, q = None, section.tolerance / 10, 10.0
        how = f"tolerance {tolerance:.3g} instead of {section.tolerance:.3g}"
    else:
        taken = _step_taken(run, section.step)
        step, tolerance, q = taken / 2, section.tolerance, 2.0**run.integrator.order
        how = f"step {step:.3g} instead of {taken:.3g}, order {run.integrator.order}"
    system = run.discretisation.system
    with one_thread(), torch.no_grad():
        again = rollout(system, run.integrator, run.trajectory.states[0], times, step, tolerance, progress)
    if again.interrupted:
        raise KeyboardInterrupt
    pairs = zip(kept, again.states, strict=True)
    return Refined({i: z + (z - run.trajectory.states[i]) / (q - 1) for i, z in pairs}, how)


def _step_taken(run: Run, step: float) -> float:
    """The length of the run's steps: the one asked for, shortened to land on the saved times."""
    time = run.problem.section.time
    frame = (time.end - time.start) / run.problem.section.output.frames
    return frame / max(1, math.ceil(frame / step * (1 - 1e-9)))


def best_approximation(run: Run, name: str, truth: Truth) -> Tensor | None:
    """Coefficients (F, M) of P u*: the L²(Ω) projection of an exact solution; the weighted least-squares fit to a reference, None
    if that has too few points to tell."""
    field = run.discretisation.system.fields[name]
    times = column([run.trajectory.times[i] for i in truth.frames])
    theta = field.theta(times)
    if truth.source == "reference":
        few = len(truth.weights) < 2 * field.r
        return None if few else field.ambient_coefficients(_fitted(field, truth, theta), theta)
    exact, at = run.problem.field(name).section.exact, field.space.nodes
    assert exact is not None
    values = torch.stack([spread(at.moment(float(t))(exact), at) for t in times])
    return field.ambient_coefficients(field.state_of(values, theta), theta)


def _fitted(field: DiscreteField, truth: Truth, theta: Tensor | None) -> Tensor:
    """z (F, r) that minimises Σ w (a_bc + N z − u*)² over the reference's points."""
    basis = field.space.basis
    root = truth.weights.sqrt()
    origin = field.ambient_coefficients(torch.zeros(len(truth.frames), field.r, dtype=torch.float64), theta)
    each = field.space.expand(torch.eye(field.r, dtype=torch.float64))
    functions = synthesis(basis, each, truth.x) * root
    wanted = (truth.values - synthesis(basis, origin, truth.x)) * root
    z, *_ = np.linalg.lstsq(functions.T.numpy(), wanted.T.numpy(), rcond=1e-12)
    return torch.from_numpy(z.T.copy())


@dataclass(frozen=True)
class Contributions:
    """Squares (F,) of norms over the truth's points; None where a part could not be found."""

    norm: Tensor
    error: Tensor
    best_approximation: Tensor | None
    galerkin: Tensor | None
    time: Tensor | None


def contributions(run: Run, name: str, truth: Truth, refined: Refined | None) -> Contributions:
    """The parts of the error of one field. Without ``refined`` the Galerkin part holds the error in time as well."""
    basis, system = run.discretisation.basis, run.discretisation.system

    def at_points(a: Tensor) -> Tensor:
        return synthesis(basis, a, truth.x)

    best = best_approximation(run, name, truth)
    u = at_points(coefficients(run, name, truth.frames))
    without_time, time = u, None
    if refined is not None:
        a = [system.coefficients(name, refined.states[i], run.trajectory.times[i]) for i in truth.frames]
        without_time = at_points(torch.stack(a))
        time = truth.squares(u - without_time)
    closest = None if best is None else at_points(best)
    return Contributions(
        truth.squares(truth.values),
        truth.squares(u - truth.values),
        None if closest is None else truth.squares(closest - truth.values),
        None if closest is None else truth.squares(closest - without_time),
        time,
    )
