"""What a trial space leaves: of the equation, of the initial state, of the boundary data.

**Equation.** The Galerkin solution u satisfies its equation up to a remainder r = u_t − Σ c_i L_i(u) − f that is orthogonal to the trial
space. An error e that r feeds, e_t ≈ Le + r, is about ‖r‖ τ with the time τ that the shortest waves of the space need: they decay or
oscillate at the rate λ of the upper part of the spectrum of A, and are carried along at the rate ‖u_t‖/‖u‖,

    e ≈ ‖r‖ min(T, 1/λ, ‖u‖/‖u_t‖),

and some twenty times that where the solution is not smooth.

The remainder is taken at the quadrature nodes with the mechanisms' exact operators, at some saved times after the start. Finite elements
have no second derivatives; they estimate what they leave on every cell.

**Initial state.** The distance of u(0) from the initial state, which no later time repairs unless the equation damps it.

**Boundary data.** What the field misses of them on points between the samples, in units of the field: where the boundary samples cannot be
met, as at a kink of the data, u is wrong by about as much.
"""

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gleg_accuracy.fluxes import flux_errors
from gleg_accuracy.nodes import parts_of
from gleg_core.algebra.boundary_system import BoundaryPoints, BoundarySystem, jet_on, spread
from gleg_core.algebra.linear import DiagonalPart
from gleg_core.algebra.modal import ModalPart
from gleg_core.algebra.tables import Tables
from gleg_core.contracts.domain import Domain
from gleg_core.contracts.jet import Jet
from gleg_core.contracts.local_basis import LocalBasis
from gleg_core.contracts.location import Location
from gleg_core.estimate import ErrorMap, Part
from gleg_core.run import Run
from gleg_core.spec.roughness import roughness_of
from gleg_core.system.discrete_field import DiscreteField
from gleg_core.system.initial import initial_functions
from gleg_core.system.reduced import ReducedSystem

_MOMENTS = 5
"""Saved times after the start at which the remainder is taken."""
_UPPER = 0.7
"""λ is the quantile of |eigenvalues of A| above which waves count as short."""
_AT_CORNERS = 20.0
"""How much larger errors are where the solution is not smooth: a residual is small beside a corner that the functions do not know."""
_AT_START = 4e-2
"""From this part of the solution on, an initial state that the space does not represent is worth a warning."""
_ACROSS = 10
"""Parts of Ω along every axis among which a place is named."""
_TINY = 1e-300


def parts(run: Run) -> Iterator[Part]:
    sizes = _sizes(run)
    yield from _of_initial_state(run, sizes)
    if not isinstance(run.discretisation.basis, LocalBasis):
        if run.choice is None or math.isinf(run.choice.space_error):  # else trials have told
            yield from _of_equation(run, sizes)
        yield from _of_boundary_data(run, sizes)
        yield from _of_fluxes(run)


def moments(run: Run) -> list[int]:
    """Numbers of some saved times after the start."""
    last = len(run.times) - 1
    return sorted({int(i) for i in np.linspace(min(1, last), last, _MOMENTS).round()})


def _sizes(run: Run) -> dict[str, float]:
    """max_t ‖u‖ of every field over some saved times."""
    return {name: max(_norm(f, _values(run, name, i)) for i in {0, *moments(run)}) for name, f in _fields(run).items()}


def _fields(run: Run) -> dict[str, DiscreteField]:
    system = run.discretisation.system
    return {name: system.fields[name] for name in system.slices}


def _values(run: Run, name: str, i: int) -> Tensor:
    """A field at its nodes at a saved time, (n,)."""
    system, t = run.discretisation.system, float(run.times[i])
    field = system.fields[name]
    return field.interior.of_state(run.trajectory.states[i][..., system.slices[name]], field.theta(t)).value


def _norm(field: DiscreteField, values: Tensor) -> float:
    return float((values**2 @ field.space.weights).sqrt())


def _of_initial_state(run: Run, sizes: dict[str, float]) -> Iterator[Part]:
    functions, start = initial_functions(run.problem), float(run.times[0])
    for name, field in _fields(run).items():
        stated = spread(functions[name](field.interior.at.moment(start)), field.interior.at)
        missed = (_values(run, name, 0) - stated).abs()
        place = tuple(field.space.nodes.x[int(missed.argmax())].tolist())
        error = _norm(field, missed) / max(sizes[name], _TINY)
        yield Part("start", error, f"the initial state of {name}", _FINER, place, start, _AT_START)


_FINER = "where it does not fit the boundary data it is soon forgotten; elsewhere it needs more functions"


def _of_equation(run: Run, sizes: dict[str, float]) -> Iterator[Part]:
    """Nothing where a mechanism's exact response is not known, as of one that is learned from data."""
    if any(term.block.law is None for term, _ in run.discretisation.system.modes):
        return
    system = run.discretisation.system
    duration = float(run.times[-1] - run.times[0])
    rates = _upper_rates(system)
    rough = roughness_of(run.problem, run.discretisation.domain).reasons
    found: dict[str, list[tuple[float, int, np.ndarray]]] = {}
    for i in moments(run):
        t = float(run.times[i])
        for name, (u, u_t, left) in system.remainder(run.trajectory.states[i], t).items():
            field = system.fields[name]
            carried = _norm(field, u_t) / max(_norm(field, u), _TINY)
            within = min(duration, 1.0 / max(rates[name], carried, _TINY))
            factor = within / max(sizes[name], _TINY) * (_AT_CORNERS if rough else 1.0)
            density = left.abs().numpy() * factor * math.sqrt(float(field.space.weights.sum()))
            found.setdefault(name, []).append((_norm(field, left) * factor, i, density))
    for name, rows in found.items():
        error, i, density = max(rows, key=lambda row: row[0])
        nodes, times = system.fields[name].space.nodes.x.numpy(), np.array([float(run.times[i]) for _, i, _ in rows])
        where = ErrorMap(nodes, density, times, np.array([row[0] for row in rows]))
        place = _steepest(run, name, i)
        yield Part("space", error, f"the solution {name}", _more(run), place, float(run.times[i]), map=where)


def _of_fluxes(run: Run) -> Iterator[Part]:
    times = [float(run.times[i]) for i in moments(run)]
    for name in _fields(run):
        if (errors := flux_errors(run, name, times)) is not None:
            i = int(errors.sum(axis=1).argmax())
            about = f"the flux of {name}, which does not follow the coefficients,"
            yield Part("space", float(errors[i].sum()), about, _more(run), moment=times[i])


def _steepest(run: Run, name: str, i: int) -> tuple[float, ...]:
    """The part of Ω where ∫|∇u|² is largest at a saved time, of parts a tenth as wide: the front or the layer that global functions answer
    with ripples everywhere."""
    system, t = run.discretisation.system, float(run.times[i])
    field = system.fields[name]
    u = field.interior.of_state(run.trajectory.states[i][..., system.slices[name]], field.theta(t))
    slope = (torch.stack([g**2 for g in u.grad]).sum(dim=0) * field.space.weights).numpy()
    x = field.space.nodes.x.numpy()
    part = parts_of(x, run.discretisation.domain, _ACROSS)
    here = part == np.bincount(part, slope).argmax()
    return tuple((slope[here] @ x[here] / max(slope[here].sum(), _TINY)).tolist())


def _upper_rates(system: ReducedSystem) -> dict[str, float]:
    """λ of every field. Of a matrix, the roots of the diagonal of A²: they are its eigenvalues if it is nearly diagonal, and the
    frequencies of two fields that drive each other."""
    linear: Any = system.linear
    if isinstance(linear, DiagonalPart):
        rates = linear.eigenvalues.abs()
    elif isinstance(linear, ModalPart):
        rates = linear.rates.abs().T.flatten()
    else:
        rates = (linear.matrix * linear.matrix.T).sum(dim=1).abs().sqrt()
    return {name: float(torch.quantile(rates[..., s], _UPPER)) for name, s in system.slices.items()}


def _more(run: Run) -> str:
    """A line for the problem file."""
    return "try  basis: {kind: elements}  or more functions"


def _of_boundary_data(run: Run, sizes: dict[str, float]) -> Iterator[Part]:
    d, times = run.discretisation, sorted({0, len(run.times) // 2, len(run.times) - 1})
    column = torch.tensor([[float(run.times[i])] for i in times], dtype=torch.float64)
    for name, field in _fields(run).items():
        if not field.space.boundary.size:
            continue
        known = field.space.boundary
        between = BoundarySystem(_between(d.domain, known.points), known.conditions)
        a = torch.stack([d.system.coefficients(name, run.trajectory.states[i], float(run.times[i])) for i in times])
        measure = float(field.space.weights.sum())
        for condition, at in zip(between.conditions, between.locations, strict=True):
            if condition.operator.order > 0 or condition.operator.conditions != 1:
                continue
            u = jet_on(at, partial(_jet, field, a))
            (trace,), (data,) = condition.operator.traces(u, at), condition.data(at.moment(column))
            missed = (trace - data).abs()
            weights = between.points.weights[between.points.spans[condition.segment]]
            error = float((missed**2 @ weights / weights.sum()).max().sqrt()) / max(sizes[name] / measure**0.5, _TINY)
            place = tuple(at.x[int(missed.amax(dim=0).argmax())].tolist())
            yield Part("data", error, f"the boundary data of {name} on segment {condition.segment}", _more(run), place)


def _jet(field: DiscreteField, a: Tensor, at: Location) -> Jet:
    """The field with coefficients a (T, M) at any points."""
    return Jet(Tables(field.space.basis, a.T, at.x), at.dim)


def _between(domain: Domain, used: BoundaryPoints) -> BoundaryPoints:
    """Some three times as many points on every segment."""
    spans = (used.spans[segment.name] for segment in domain.segments)
    counts = iter([1 if domain.dim == 1 else 3 * (span.stop - span.start) + 5 for span in spans])
    return BoundaryPoints.sample(domain, lambda length: next(counts))
