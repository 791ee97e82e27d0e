"""Functions of place that a problem states and a basis should represent: initial states, exact solutions, sources, coefficients."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import torch

from gleg_core.algebra.boundary_system import spread
from gleg_core.contracts.basis import as_points
from gleg_core.contracts.domain import Domain
from gleg_core.contracts.location import Data, Datum, Location
from gleg_core.coordinates import COORDINATES
from gleg_core.expressions import Expression
from gleg_core.spec.params import formulas
from gleg_core.spec.problem import Problem
from gleg_core.spec.segments import assign_segments
from gleg_core.system.initial import initial_functions

_TIMES = 5
"""Times of the run at which what moves is looked at."""


def known_functions(problem: Problem) -> Callable[[np.ndarray], np.ndarray]:
    """Points (n, dim) → values (k, n) of what is given inside Ω."""
    given = [d for d in _given(problem) if _free(d) & set(COORDINATES[: problem.scope.dim])]
    # initial states from elsewhere: a file, another run
    stated = any(a.offered.keys.initial for holder in (problem, *problem.fields) for a in holder.added)
    start = list(initial_functions(problem).values()) if stated else []

    def values(points: np.ndarray) -> np.ndarray:
        at = Location(as_points(points), problem.section.time.start)
        return _stacked([*(function(at) for function in start), *_moments(problem, given, at)], at)

    return values


def known_on_boundary(problem: Problem, domain: Domain) -> Callable[[str, np.ndarray], np.ndarray]:
    """Segment, points (n, dim) → values (k, n) of the data of all fields there."""
    assigned = assign_segments(problem, domain)

    def values(segment: str, points: np.ndarray) -> np.ndarray:
        at, given = Location(as_points(points), problem.section.time.start), list[Data]()
        for field in problem.fields:
            condition = assigned[field.name][segment]
            exact = field.section.exact if condition.data_from_exact else None
            given += [exact] if exact is not None else formulas(condition.operator.params)
        return _stacked(list(_moments(problem, given, at)), at)

    return values


def _moments(problem: Problem, given: Iterable[Data], at: Location) -> Iterator[torch.Tensor]:
    """What is given at the points, at several times if it moves."""
    section = problem.section.time
    times = np.linspace(section.start, section.end, _TIMES).tolist()
    for data in given:
        for t in times if "t" in _free(data) else times[:1]:
            yield spread(at.moment(t)(data), at)


def _stacked(rows: Sequence[torch.Tensor], at: Location) -> np.ndarray:
    if not rows:
        return np.zeros((0, len(at.x)))
    return torch.nan_to_num(torch.stack([spread(row, at) for row in rows]), 0.0, 0.0, 0.0).numpy()


def _free(data: Data) -> frozenset[str]:
    return data.free if isinstance(data, Expression | Datum) else frozenset()


def _given(problem: Problem) -> Iterator[Data]:
    for field in problem.fields:
        yield from (data for data in (field.section.initial, field.section.exact) if data is not None)
        for term in field.terms:
            yield term.section.coefficient
            yield from formulas(term.block.params) if term.block is not None else ()
