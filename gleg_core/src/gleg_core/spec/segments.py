"""Which boundary condition holds on which segment. Geometry only: no torch."""

from gleg_core.contracts.domain import Domain
from gleg_core.errors import SpecError, did_you_mean, listing
from gleg_core.spec.problem import ConditionSpec, FieldSpec, Problem

Assignment = dict[str, ConditionSpec]
"""Segment name → its condition."""


def assign_segments(problem: Problem, domain: Domain) -> dict[str, Assignment]:
    """For every field, the condition of every segment; each segment has exactly one."""
    return {field.name: _assign(problem, field, [s.name for s in domain.segments]) for field in problem.fields}


def _assign(problem: Problem, field: FieldSpec, names: list[str]) -> Assignment:
    taken: Assignment = {}
    locate = problem.document.locate
    for condition in sorted(field.conditions, key=lambda c: c.where == ("rest",)):
        for segment in _expand(problem, condition, names, taken):
            if segment in taken:
                raise SpecError(
                    f"{locate(condition.place)}: segment '{segment}' has a condition already "
                    f"({locate(taken[segment].place)}); each segment has exactly one. For value and slope together use "
                    "one condition that states both"
                )
            taken[segment] = condition
    missing = [n for n in names if n not in taken]
    if missing:
        raise SpecError(
            f"{locate(('fields', field.name, 'boundary'))}: no condition on segment {listing(missing)}; "
            "add one, or write where: rest"
        )
    return taken


def _expand(problem: Problem, condition: ConditionSpec, names: list[str], taken: Assignment) -> list[str]:
    if condition.where == ("all",):
        return names
    if condition.where == ("rest",):
        rest = [n for n in names if n not in taken]
        if not rest:
            raise SpecError(
                f"{problem.document.locate(condition.place)}: 'rest' is empty: every segment has a condition already"
            )
        return rest
    for name in condition.where:
        if name not in names:
            raise SpecError(
                f"{problem.document.locate((*condition.place, 'where'))}: the domain has no segment '{name}'. "
                f"Segments: {listing(names, 40)}, and the words all and rest.{did_you_mean(name, [*names, 'all', 'rest'])}"
            )
    return list(condition.where)
