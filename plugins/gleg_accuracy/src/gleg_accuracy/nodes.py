"""What no node of a space has seen: narrow features of initial states and sources that lie between the nodes.

A function is looked at at random points and compared with its values at the nodes nearby, in the same one of many small boxes. What is
beyond those is not in the discrete problem at all, and no residual at nodes tells of it.
"""

from collections.abc import Callable, Iterator

import numpy as np
from torch import Tensor

from gleg_core.algebra.boundary_system import spread
from gleg_core.contracts.basis import as_points
from gleg_core.contracts.domain import Domain
from gleg_core.contracts.location import Location
from gleg_core.coordinates import COORDINATES
from gleg_core.estimate import Part
from gleg_core.run import Run
from gleg_core.spec.switching import formulas_of_term
from gleg_core.system.initial import initial_functions

_POINTS, _IN_A_BOX = 20_000, 30
"""Random points, and nodes in a box, about."""
_FAR = 0.3
"""Part of its range by which a function must be beyond its values nearby: waves that the nodes resolve are beyond them by less."""
_MUCH = 4e-2
"""Part of a function that may lie between the nodes: less is the rim of a jump."""
_HELPS = "more functions or elements there see it"

Function = Callable[[Location], Tensor | float]


def parts(run: Run) -> Iterator[Part]:
    random = np.random.default_rng(0)
    domain = run.discretisation.domain
    points = domain.bounds[:, 0] + np.ptp(domain.bounds, axis=1) * random.random((_POINTS, domain.dim))
    points = points[domain.contains(points)]
    if not len(points):
        return
    start, end = float(run.times[0]), float(run.times[-1])
    for name, function in initial_functions(run.problem).items():
        yield from _unseen(run, points, function, f"the initial state of {name}", start)
    for field in run.problem.fields:
        for formula in dict.fromkeys(f for term in field.terms for f in formulas_of_term(term)):
            if formula.free & set(COORDINATES):
                for t in dict.fromkeys((start, (start + end) / 2, end)) if "t" in formula.free else (start,):
                    yield from _unseen(run, points, lambda at, f=formula: at(f), f"'{formula}'", t)  # type: ignore[misc]


def _unseen(run: Run, points: np.ndarray, function: Function, about: str, t: float) -> Iterator[Part]:
    """A part whose error is the share of the function, in the sense of least squares, that lies between the nodes, if that is much."""
    domain = run.discretisation.domain
    nodes = next(iter(run.discretisation.system.fields.values())).space.nodes
    at = Location(as_points(points), t)
    known, values = (
        np.nan_to_num(spread(function(place), place).numpy(), posinf=0.0, neginf=0.0) for place in (nodes.moment(t), at)
    )
    across = max(1, int((len(known) / _IN_A_BOX) ** (1 / domain.dim)))
    here, there = parts_of(nodes.x.numpy(), domain, across), parts_of(points, domain, across)
    least, most = np.full(across**domain.dim, np.inf), np.full(across**domain.dim, -np.inf)
    np.minimum.at(least, here, known)
    np.maximum.at(most, here, known)
    seen = least[there] <= most[there]
    beyond = np.where(seen, np.clip(np.maximum(values - most[there], least[there] - values), 0.0, None), 0.0)
    beyond[beyond < _FAR * np.ptp(values)] = 0.0
    size = float(np.linalg.norm(values))
    share = float(np.linalg.norm(beyond)) / size if size > 0 else 0.0
    if share > _MUCH:
        place = tuple(points[int(beyond.argmax())].tolist())
        yield Part("data", share, f"{about} between the nodes", _HELPS, place, t, _MUCH)


def parts_of(points: np.ndarray, domain: Domain, across: int) -> np.ndarray:
    """The number of the box that each point (n, dim) lies in, of ``across`` boxes along every axis."""
    low, width = domain.bounds[:, 0], np.ptp(domain.bounds, axis=1)
    along = np.clip(((points - low) / width * across).astype(int), 0, across - 1)
    return np.ravel_multi_index(tuple(along.T), (across,) * points.shape[1])
