"""What can be checked of a problem once its domain is built: probes, box, reference data. Geometry only: no torch."""

from __future__ import annotations

import numpy as np

from gleg_core.box import PERIODIC_REACH, box_bounds, wrong_reach
from gleg_core.contracts.domain import Domain
from gleg_core.errors import GeometryError, SpecError
from gleg_core.spec.problem import Problem
from gleg_results.reference import read_reference


def check_geometry(problem: Problem, domain: Domain) -> None:
    """Refuse, before any work, probes outside the domain, a box that does not hold it, a reference that does not fit."""
    _check_probes(problem, domain)
    read_reference(problem, domain)
    if problem.section.space.box != "auto":
        _check_box(problem, domain)


def _check_probes(problem: Problem, domain: Domain) -> None:
    probes = problem.section.output.probes
    if not probes:
        return
    inside = domain.contains(np.array(probes, dtype=float))
    low, high = domain.bounds[:, 0], domain.bounds[:, 1]
    extent = " × ".join(f"[{a:.4g}, {b:.4g}]" for a, b in zip(low, high, strict=True))
    outside = [
        f"{problem.document.locate(('output', 'probes', i))}: the point ({_point(probe)}) is not in the domain, "
        f"which lies in {extent}"
        for i, probe in enumerate(probes)
        if not inside[i]
    ]
    if outside:
        raise SpecError("\n".join(outside))


def _check_box(problem: Problem, domain: Domain) -> None:
    place = problem.document.locate(("space", "box"))
    box = box_bounds(problem.section.space.box, domain.dim, place)
    centre, half = box.mean(axis=1), (box[:, 1] - box[:, 0]) / 2
    reach = float((np.abs(domain.bounds - centre[:, None]) / half[:, None]).max())
    periodic = bool(problem.basis.installed.entry.capabilities.get("periodic", False))
    if wrong := wrong_reach(reach, periodic):
        extent = " × ".join(f"[{a:.4g}, {b:.4g}]" for a, b in domain.bounds)
        raise GeometryError(
            f"{place}: the domain {extent} {wrong}: it reaches {reach:.3g} of the half width, at most "
            f"{PERIODIC_REACH if periodic else 1:g} is possible. Enlarge the box, or leave it out so that it is fitted"
        )


def _point(values: list[float]) -> str:
    return ", ".join(f"{v:g}" for v in values)
