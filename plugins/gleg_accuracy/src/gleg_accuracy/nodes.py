"""What no node of a space has seen: narrow features of initial states and sources that lie between the nodes.

A function is looked at at random points and compared with its values at the nodes nearby, in the same one of many small boxes. What is
beyond those is not in the discrete problem at all, and no residual at nodes tells of it.
"""

import math
from collections.abc import Iterator

import numpy as np
import torch

from gleg_core.algebra.boundary_system import spread
from gleg_core.contracts.basis import as_points
from gleg_core.contracts.domain import Domain
from gleg_core.contracts.location import Location
from gleg_core.coordinates import COORDINATES
from gleg_core.estimate import Part
from gleg_core.expressions import Expression
from gleg_core.expressions.switches import switches
from gleg_core.run import Run
from gleg_core.spec.switching import formulas_of_term
from gleg_core.system.initial import initial_functions
from gleg_core.system.sources import NodalSource

_POINTS, _COMPARED = 20_000, 200
"""Random points, and those of them at which a field is compared with its initial state."""
_IN_A_BOX = 8
"""Nodes in a box, about."""
_FAR = 0.3
"""Part of its range by which a formula must be beyond its values nearby, and its projection wrong there."""
_ASTRAY = 0.3
"""Part by which ∫f² at the nodes must differ from that at random points, whose own error is a tenth for a feature in 1/200 of Ω."""
_MUCH = 4e-2
"""Part of a function that may lie between the nodes: less is the rim of a jump."""
_HELPS = "more functions or elements there see it"


def parts(run: Run) -> Iterator[Part]:
    random = np.random.default_rng(0)
    domain = run.discretisation.domain
    points = domain.bounds[:, 0] + np.ptp(domain.bounds, axis=1) * random.random((_POINTS, domain.dim))
    points = points[domain.contains(points)]
    if not len(points):
        return
    start, end = float(run.times[0]), float(run.times[-1])
    for name, function in initial_functions(run.problem).items():
        yield from _of_initial_state(run, points, name, function, start)
    for field in run.problem.fields:
        for formula in dict.fromkeys(f for term in field.terms for f in formulas_of_term(term)):
            if formula.free & set(COORDINATES):
                for t in dict.fromkeys((start, (start + end) / 2, end)) if "t" in formula.free else (start,):
                    yield from _of_formula(run, points, formula, t)


def _of_initial_state(run: Run, points: np.ndarray, name: str, stated: NodalSource, t: float) -> Iterator[Part]:
    """The field at the start is compared with what is stated where that is farthest from its values at the nodes of the same box."""
    nodes = run.discretisation.system.fields[name].space.nodes
    known, values = _values(stated, nodes, t), _values(stated, Location(as_points(points), t), t)
    beyond = _beyond(run, points, known, values)
    chosen = np.argsort(-beyond)[:_COMPARED]
    missed = np.nan_to_num(np.abs(run.evaluate(name, points[chosen], t) - values[chosen])) * (beyond[chosen] > 0)
    size = float(np.linalg.norm(values))
    if size > 0 and (share := float(np.linalg.norm(missed)) / size) > _MUCH:
        place = tuple(points[chosen[int(missed.argmax())]].tolist())
        yield Part("data", share, f"the initial state of {name} between the nodes", _HELPS, place, t, _MUCH)


def _of_formula(run: Run, points: np.ndarray, formula: Expression, t: float) -> Iterator[Part]:
    """∫f² by the nodes and by random points, where they are far from each other; and values far beyond those nearby that f's projection on
    the trial space has not either: a thin membrane hardly shows in the integral."""
    field = next(iter(run.discretisation.system.fields.values()))
    space = field.space
    known, values = _values(_at(formula), space.nodes, t), _values(_at(formula), Location(as_points(points), t), t)
    weights, whole, reach = space.weights.numpy(), float((values**2).mean()), float(np.ptp(values))
    astray = abs(float(known**2 @ weights) / float(weights.sum()) - whole) / whole if whole > 0 else 0.0
    error = math.sqrt(min(astray, 1.0)) if astray > _ASTRAY else 0.0
    beyond = _beyond(run, points, known, values)
    chosen = np.flatnonzero(beyond > _FAR * reach)[:_COMPARED]
    if switches(formula):  # it jumps between nodes on both sides, which meshes follow
        chosen = chosen[:0]
    if reach > 0 and len(chosen):
        projected = space.expand(space.riesz(field.project_values(torch.from_numpy(known))))
        there = run.discretisation.basis.evaluate(projected, as_points(points[chosen])).numpy()
        missed = float(np.abs(there - values[chosen]).max()) / reach
        error = max(error, missed if missed > _FAR else 0.0)
    if error > _MUCH:
        place = tuple(points[int((beyond if len(chosen) else np.abs(values)).argmax())].tolist())
        yield Part("data", error, f"'{formula}' between the nodes", _HELPS, place, t, _MUCH)


def _beyond(run: Run, points: np.ndarray, known: np.ndarray, values: np.ndarray) -> np.ndarray:
    """How far values at the points are outside the range of those that are known at the nodes of the same box, (n,)."""
    domain = run.discretisation.domain
    nodes = next(iter(run.discretisation.system.fields.values())).space.nodes.x.numpy()
    across = max(1, int((len(known) / _IN_A_BOX) ** (1 / domain.dim)))
    here, there = parts_of(nodes, domain, across), parts_of(points, domain, across)
    least, most = np.full(across**domain.dim, np.inf), np.full(across**domain.dim, -np.inf)
    np.minimum.at(least, here, known)
    np.maximum.at(most, here, known)
    seen = least[there] <= most[there]
    return np.where(seen, np.maximum(values - most[there], least[there] - values), 0.0)


def _at(formula: Expression) -> NodalSource:
    return lambda at: torch.as_tensor(at(formula))


def _values(function: NodalSource, at: Location, t: float) -> np.ndarray:
    """(n,), 0 where it is not finite."""
    place = at.moment(t)
    return np.nan_to_num(spread(function(place), place).numpy(), posinf=0.0, neginf=0.0)


def parts_of(points: np.ndarray, domain: Domain, across: int) -> np.ndarray:
    """The number of the box that each point (n, dim) lies in, of ``across`` boxes along every axis."""
    low, width = domain.bounds[:, 0], np.ptp(domain.bounds, axis=1)
    along = np.clip(((points - low) / width * across).astype(int), 0, across - 1)
    return np.ravel_multi_index(tuple(along.T), (across,) * points.shape[1])
