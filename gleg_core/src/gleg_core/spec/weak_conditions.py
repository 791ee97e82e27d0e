"""Which boundary conditions functions with first derivatives only can meet: those that a weak form carries, and those on values."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from gleg_core.capabilities import BoundaryCapabilities
from gleg_core.contracts.domain import Domain
from gleg_core.spec.problem import ConditionSpec, Problem
from gleg_core.spec.segments import Assignment, assign_segments

if TYPE_CHECKING:
    from gleg_core.contracts.boundary import BoundaryOperator


def are_weak(problem: Problem, domain: Callable[[], Domain]) -> bool:
    """Whether they can meet all of the problem's. The domain is asked for, and operators are made, only where capabilities do not tell."""
    unclear = [c for field in problem.fields for c in field.conditions if not _is_plain(c)]
    if not unclear:
        return True
    operators: list[BoundaryOperator] = [problem.build(c.operator) for c in unclear]
    if any(o.conditions != 1 or o.order > 0 or o.partner is not None for o in operators):
        return False
    return not any(_touches(owner, domain()) for owner in assign_segments(problem, domain()).values())


def _is_plain(condition: ConditionSpec) -> bool:
    stated = condition.operator.installed.capabilities(BoundaryCapabilities)
    return stated.natural or stated.prescribes is not None or stated.conditions == 0


def _touches(assigned: Assignment, domain: Domain) -> bool:
    """Whether the segment of an unknown value touches one of another condition on values: there the value is known."""
    for corner in domain.corners or ():
        sides = [assigned[name] for name in corner.segments]
        natural = any(c.operator.installed.capabilities(BoundaryCapabilities).natural for c in sides)
        if len(sides) == 2 and not natural and not all(map(_is_plain, sides)):
            return True
    return False
