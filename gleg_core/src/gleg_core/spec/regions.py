"""Parts of space that a problem file gives a name under ``regions``: formulas use the names as conditions."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from gleg_core.contracts.closure import axis_steps
from gleg_core.contracts.domain import Domain
from gleg_core.coordinates import COORDINATES
from gleg_core.expressions import Expression
from gleg_core.expressions.nodes import inside, var
from gleg_core.registry import Registry
from gleg_core.registry.fingerprint import named_files
from gleg_core.spec.loading import Document
from gleg_core.spec.params import formulas
from gleg_core.spec.problem import Resolved, build

Array = np.ndarray
_ON_EDGE = 1e-9
"""Points as close to the edge as that, in units of the region's coordinates, are in it: where an edge lies on ∂Ω, points of ∂Ω are on
either side of it by rounding, and those of curved elements by a little more."""
_INWARD = 1e-6
"""In units of the domain's extent: how far from ∂Ω a point counts as a point of Ω and not of ∂Ω."""
_LOOKED_AT = 400
"""Points of a segment at which is asked what lies in what."""


@dataclass(frozen=True)
class Region:
    """A domain with a name. Regions made from the same, files included, are equal."""

    name: str
    made_from: tuple[object, ...]
    resolved: Resolved = field(compare=False)
    document: Document = field(compare=False)
    registry: Registry = field(compare=False)

    @classmethod
    def of(cls, name: str, resolved: Resolved, document: Document, registry: Registry) -> "Region":
        files = tuple(named_files(resolved.dump(), Path(document.folder)))
        made_from = resolved.key, resolved.params.model_dump_json(), tuple(formulas(resolved.params)), files
        return cls(name, made_from, resolved, document, registry)

    @cached_property
    def domain(self) -> Domain:
        return build(self.document, self.registry, self.resolved)

    def condition(self, dim: int) -> Expression:
        """1 in the region and on its edge, 0 elsewhere."""
        return Expression(self.name, inside(self, *map(var, COORDINATES[:dim])))

    def contains(self, points: Array) -> Array:
        """Which of the points (n, dim) lie in the region or on its edge."""
        found = np.array(self.domain.contains(points))
        rest = np.flatnonzero(~found)
        for step in axis_steps(_ON_EDGE * np.abs(self.domain.bounds).max(), points.shape[1]):
            found[rest] |= self.domain.contains(points[rest] + step)
        return found

    def share_of(self, domain: Domain) -> tuple[bool, bool]:
        """Whether some of Ω is in the region, and whether some is not. Where both hold, its edge goes through Ω."""
        near = _INWARD * float(np.ptp(domain.bounds, axis=1).max())
        samples = [segment.sample(_LOOKED_AT) for segment in domain.segments]
        rim = np.concatenate([sample.points - near * sample.normals for sample in samples])
        covered = self.contains(rim[domain.contains(rim)])
        edge = np.concatenate([segment.sample(_LOOKED_AT).points for segment in self.domain.segments])
        within = bool(np.all([domain.contains(edge + step) for step in axis_steps(near, domain.dim)], axis=0).any())
        return within or bool(covered.any()), within or not covered.all()
