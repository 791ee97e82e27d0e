"""What can be checked of a problem once its domain is built. Geometry only: no torch."""

import warnings

import numpy as np

from gleg_core.box import PERIODIC_REACH, box_bounds, wrong_reach
from gleg_core.capabilities import BasisCapabilities
from gleg_core.contracts.domain import Domain
from gleg_core.errors import GeometryError
from gleg_core.spec.problem import Problem


def check_geometry(problem: Problem, domain: Domain) -> None:
    """Refuse, before any work, a box that does not hold the domain, and keys of packs that do not fit it; warn of regions outside it."""
    for added in problem.added:
        if check := added.offered.keys.check:
            problem.registry.function(added.offered, check)(problem, domain)
    for region in problem.regions:
        if not region.share_of(domain)[0]:
            place = problem.document.locate(("regions", region.name))
            warnings.warn(f"{place}: the region lies outside the domain: '{region.name}' holds nowhere", stacklevel=2)
    if problem.section.space.box != "auto":
        _check_box(problem, domain)


def _check_box(problem: Problem, domain: Domain) -> None:
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
