"""Functions that a problem states: initial states, their coordinates, and what a basis should represent."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from gleg_core.algebra.boundary_system import spread
from gleg_core.contracts.basis import as_points
from gleg_core.contracts.domain import Domain
from gleg_core.contracts.location import Datum, Location
from gleg_core.coordinates import COORDINATES
from gleg_core.errors import NumericsError, PackError
from gleg_core.expressions import Expression
from gleg_core.spec.blame import failure
from gleg_core.spec.geometry import assign_segments
from gleg_core.spec.problem import FieldSpec, Problem
from gleg_core.system.reduced import ReducedSystem
from gleg_core.system.sources import NodalSource

_TIMES = 5
"""Times of the run at which what moves is looked at."""


def initial_functions(problem: Problem) -> dict[str, NodalSource]:
    """u(x, 0) of every field that evolves."""
    return {f.name: _function(problem, f) for f in problem.fields if not f.section.steady}


def _function(problem: Problem, field: FieldSpec) -> NodalSource:
    given = {k: f for k in ("exact", "initial") if (f := getattr(field.section, k)) is not None}
    if not given:
        stated = next(a.offered for a in (*field.added, *problem.added) if a.offered.keys.initial)
        started = problem.registry.function(stated, stated.keys.initial)(problem, field.name)

        def given_by_pack(at: Location) -> Tensor:
            try:
                return spread(started(at), at)
            except (TypeError, ValueError, RuntimeError) as error:
                text = failure(stated.pack, f"while it gave the initial state of '{field.name}'", error)
                raise PackError(text) from error

        return given_by_pack

    def function(at: Location) -> Tensor:
        for key, expression in given.items():
            values = spread(at(expression), at)
            if not bool(torch.isfinite(values).all()):
                bad = ", ".join(f"{c:.4g}" for c in at.x[~torch.isfinite(values)][0].tolist())
                what = "the initial state" if key == "initial" else "the exact solution at the start"
                place = problem.document.locate(("fields", field.name, key))
                raise NumericsError(f"{place}: {what} is not finite at ({bad})")
        return values  # of the last one: an initial state comes before the exact solution

    return function


def initial_state(problem: Problem, system: ReducedSystem) -> Tensor:
    """z at the start: (..., R)."""
    return system.initial(initial_functions(problem), problem.section.time.start)


def known_functions(problem: Problem) -> Callable[[np.ndarray], np.ndarray]:
    """Points (n, dim) → values (k, n) of what is given inside Ω."""
    given = [d for field in problem.fields for d in field.given if d.free & set(COORDINATES[: problem.scope.dim])]
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
        at = Location(as_points(points), problem.section.time.start)
        given = [data for field in problem.fields for data in field.given_on(assigned[field.name][segment])]
        return _stacked(list(_moments(problem, given, at)), at)

    return values


def _moments(problem: Problem, given: Iterable[Expression | Datum], at: Location) -> Iterator[Tensor]:
    """What is given at the points, at several times if it moves."""
    section = problem.section.time
    times = np.linspace(section.start, section.end, _TIMES).tolist()
    for data in given:
        for t in times if "t" in data.free else times[:1]:
            yield spread(at.moment(t)(data), at)


def _stacked(rows: Sequence[Tensor], at: Location) -> np.ndarray:
    if not rows:
        return np.zeros((0, len(at.x)))
    return torch.nan_to_num(torch.stack([spread(row, at) for row in rows]), 0.0, 0.0, 0.0).numpy()
