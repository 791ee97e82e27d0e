"""Functions of place that a problem states and a basis should represent: initial states, exact solutions, sources, coefficients."""

from collections.abc import Callable, Iterator

import numpy as np
import torch

from gleg_core.algebra.boundary_system import spread
from gleg_core.contracts.basis import as_points
from gleg_core.contracts.location import Data, Datum, Location
from gleg_core.coordinates import COORDINATES
from gleg_core.expressions import Expression
from gleg_core.spec.params import formulas
from gleg_core.spec.problem import Problem
from gleg_core.system.initial import initial_functions

_TIMES = 5
"""Times of the run at which what moves is looked at."""


def known_functions(problem: Problem) -> Callable[[np.ndarray], np.ndarray]:
    """Points (n, dim) → values (k, n)."""
    section = problem.section.time
    times = np.linspace(section.start, section.end, _TIMES).tolist()
    given = [d for d in _given(problem) if _free(d) & set(COORDINATES[: problem.scope.dim])]
    start = list(initial_functions(problem).values())

    def values(points: np.ndarray) -> np.ndarray:
        at = Location(as_points(points), section.start)
        rows = [function(at) for function in start]
        for data in given:
            moments = times if "t" in _free(data) else times[:1]
            rows += [spread(at.moment(t)(data), at) for t in moments]
        return torch.nan_to_num(torch.stack(rows), 0.0, 0.0, 0.0).numpy() if rows else np.zeros((0, len(points)))

    return values


def _free(data: Data) -> frozenset[str]:
    return data.free if isinstance(data, Expression | Datum) else frozenset()


def _given(problem: Problem) -> Iterator[Data]:
    for field in problem.fields:
        if field.section.exact is not None:
            yield field.section.exact
        for term in field.terms:
            yield term.section.coefficient
            yield from formulas(term.block.params) if term.block is not None else ()
