"""Initial states: what a problem file says of them, their coordinates, and how well a space represents them."""

import math
from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

from gleg_core.algebra.boundary_system import spread
from gleg_core.contracts.location import Location
from gleg_core.errors import NumericsError, PackError
from gleg_core.spec.blame import failure
from gleg_core.spec.problem import FieldSpec, Problem
from gleg_core.system.discrete_field import DiscreteField
from gleg_core.system.reduced import ReducedSystem
from gleg_core.system.sources import NodalSource


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


def representation_errors(
    fields: Iterable[DiscreteField], functions: Mapping[str, NodalSource], start: float
) -> dict[str, float]:
    """‖u − Pu‖/‖u‖ on Ω of the initial field u of every field that evolves, Pu its projection on the admissible space."""
    found = {}
    for field in fields:
        if field.name in functions:
            values = spread(functions[field.name](field.interior.at.moment(start)), field.interior.at)
            theta = field.theta(start)
            closest = field.interior.of_state(field.state_of(values, theta), theta).value
            missed = (closest - values) ** 2 @ field.space.weights
            size = values**2 @ field.space.weights
            found[field.name] = math.sqrt(float(missed / size)) if float(size) > 0 else 0.0
    return found
