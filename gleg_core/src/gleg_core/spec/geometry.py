"""What can be said of a problem once its domain is built: which condition holds on which segment, whether a weak form carries them all,
whether the box and the regions suit. Geometry only: no torch."""

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from gleg_core.box import PERIODIC_REACH, box_bounds, wrong_reach
from gleg_core.capabilities import BasisCapabilities, BoundaryCapabilities
from gleg_core.contracts.domain import Domain
from gleg_core.errors import GeometryError, SpecError, did_you_mean, listing
from gleg_core.spec.problem import ConditionSpec, FieldSpec, Problem

if TYPE_CHECKING:
    from gleg_core.contracts.boundary import BoundaryOperator

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
            place = problem.document.locate(condition.place)
            raise SpecError(f"{place}: 'rest' is empty: every segment has a condition already")
        return rest
    for name in condition.where:
        if name not in names:
            raise SpecError(
                f"{problem.document.locate((*condition.place, 'where'))}: the domain has no segment '{name}'. "
                f"Segments: {listing(names, 40)}, and the words all and rest.{did_you_mean(name, [*names, 'all', 'rest'])}"
            )
    return list(condition.where)


def are_weak(problem: Problem, domain: Callable[[], Domain]) -> bool:
    """Whether functions with first derivatives only can meet all conditions of a problem: those that a weak form carries, and those on
    values. The domain is asked for, and operators are made, only where capabilities do not tell."""
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


def check_geometry(problem: Problem, domain: Domain) -> None:
    """Refuse, before any work, a box that does not hold the domain, and keys of packs that do not fit it; warn of regions outside it."""
    for added in problem.added:
        if check := added.offered.keys.check:
            problem.registry.function(added.offered, check)(problem, domain)
    for region in problem.regions:
        if not region.share_of(domain)[0]:
            place = problem.document.locate(("regions", region.name))
            warnings.warn(f"{place}: the region lies outside the domain: '{region.name}' holds nowhere", stacklevel=2)
    if problem.section.space.box == "auto":
        return
    place = problem.document.locate(("space", "box"))
    box = box_bounds(problem.section.space.box, domain.dim)
    centre, half = box.mean(axis=1), (box[:, 1] - box[:, 0]) / 2
    reach = float((np.abs(domain.bounds - centre[:, None]) / half[:, None]).max())
    periodic = problem.basis.installed.capabilities(BasisCapabilities).periodic
    if wrong := wrong_reach(reach, periodic):
        extent = " × ".join(f"[{a:.4g}, {b:.4g}]" for a, b in domain.bounds)
        raise GeometryError(
            f"{place}: the domain {extent} {wrong}: it reaches {reach:.3g} of the half width, at most "
            f"{PERIODIC_REACH if periodic else 1:g} is possible. Enlarge the box, or leave it out so that it is fitted"
        )
