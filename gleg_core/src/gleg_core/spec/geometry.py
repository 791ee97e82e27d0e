"""What can be checked of a problem once its domain is built. Geometry only: no torch."""

from __future__ import annotations

import numpy as np

from gleg_core.capabilities import BasisCapabilities
from gleg_core.contracts.domain import Domain
from gleg_core.errors import GeometryError
from gleg_core.spec.problem import Problem

_CLOSEST = 0.98
"""Largest part of the half width of a periodic box that a domain may reach, as in the algebra."""


def check_geometry(problem: Problem, domain: Domain) -> None:
    """Refuse, before any work, a box that does not hold the domain, and keys of packs that do not fit it."""
    for added in problem.added:
        if check := added.offered.keys.check:
            problem.registry.function(added.offered, check)(problem, domain)
    if problem.section.space.box != "auto":
        _check_box(problem, domain)


def _check_box(problem: Problem, domain: Domain) -> None:
    box = np.array(problem.section.space.box, dtype=float)
    box = np.tile(box, (domain.dim, 1)) if box.ndim == 1 else box
    centre, half = box.mean(axis=1), (box[:, 1] - box[:, 0]) / 2
    reach = float((np.abs(domain.bounds - centre[:, None]) / half[:, None]).max())
    most = _CLOSEST if problem.basis.installed.capabilities(BasisCapabilities).periodic else 1.0
    if reach > most + 1e-12:
        extent = " × ".join(f"[{a:.4g}, {b:.4g}]" for a, b in domain.bounds)
        needs = "lies outside the box Q" if reach > 1 + 1e-12 else "touches the edge of the periodic box Q"
        raise GeometryError(
            f"{problem.document.locate(('space', 'box'))}: the domain {extent} {needs}: it reaches {reach:.3g} of the half "
            f"width, at most {most:g} is possible. Enlarge the box, or leave it out so that it is fitted"
        )
