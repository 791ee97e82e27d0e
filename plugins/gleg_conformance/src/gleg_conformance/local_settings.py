"""Local bases on several domains, and what their checks measure with."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gleg_conformance.domain_parts import Array, extent_of
from gleg_conformance.kit import Finding, Subject, applies_if, check, needed, not_applicable
from gleg_core.contracts.basis import Frame, Site, as_points
from gleg_core.contracts.domain import Domain, RoughPoint
from gleg_core.contracts.local_basis import Cells, EdgeCells, LocalBasis
from gleg_core.errors import GeometryError, SpecError
from gleg_core.registry import Registry
from gleg_core.spec.params import Scope

DOMAINS: dict[int, dict[str, dict[str, Any]]] = {
    1: {"interval": {"left": -0.6, "right": 0.8}},
    2: {
        "rectangle": {"x": [-0.5, 0.5], "y": [-0.4, 0.4]},
        "disk": {"radius": 0.6},
        "annulus": {"outer": 0.7, "inner": 0.3},
        "polygon": {"vertices": [[-0.5, -0.5], [0.5, -0.5], [0.5, 0.0], [0.0, 0.0], [0.0, 0.5], [-0.5, 0.5]]},
    },
}
"""Dimension → domain by name → its parameters."""
_INTERFACES = {"rectangle": (lambda x: (x[:, 0] + 0.1) ** 2 + x[:, 1] ** 2 - 0.04,)}
"""Where core would say that a coefficient jumps: on a circle."""
_ROUGH = {"polygon": (RoughPoint(np.zeros(2), 2 / 3, "a re-entrant corner"),)}


@dataclass(frozen=True)
class LocalSetting:
    """The basis of the example on one domain."""

    label: str
    domain: Domain
    basis: LocalBasis

    @cached_property
    def inside(self) -> Tensor:
        """Random points (n, dim) of Ω."""
        points = self.domain.quadrature(30.0 / extent_of(self.domain)).points
        return as_points(points[np.random.default_rng(3).permutation(len(points))[:40]])

    @cached_property
    def rim(self) -> Tensor:
        """Points (n, dim) of ∂Ω."""
        return as_points(np.concatenate([segment.sample(9).points for segment in self.domain.segments]))

    @property
    def affine(self) -> bool:
        return all(c.inverse.shape[1] == 1 for c in self.basis.cells)


def domain_in(registry: Registry, kind: str, dim: int) -> Domain:
    """A domain of the table; where its pack is missing the check does not apply."""
    (found,) = needed(registry, domain=kind)
    model = registry.params(found).model_validate(dict(DOMAINS[dim][kind]), context=Scope(dim=dim))
    return registry.factory(found)(model)


def site_on(domain: Domain, kind: str = "") -> Site:
    """The domain in the box around it, and what core would say about the problem."""
    centre, widths = domain.bounds.mean(axis=1), np.ptp(domain.bounds, axis=1) / 2

    def known(points: Array) -> Array:
        return np.cos(3.0 * points.sum(axis=1))[None]

    return Site(
        Frame(centre, widths, np.eye(domain.dim)), domain, _ROUGH.get(kind, ()), _INTERFACES.get(kind, ()), known
    )


def usual_site(subject: Subject, dim: int) -> Site:
    """Where a basis is made to be looked at: a bare box, or a domain if the entry says that it is local."""
    if not subject.capabilities.local:
        return Site(Frame(np.zeros(dim), np.ones(dim), np.eye(dim)))
    kind = next(iter(DOMAINS.get(dim) or not_applicable(f"there is no first-party domain in {dim} dimensions")))
    return site_on(domain_in(subject.registry, kind, dim))


def local_settings(subject: Subject) -> list[LocalSetting]:
    """One setting per domain of the table that the basis accepts."""
    applies_if(subject.capabilities.local, "its functions are not local")

    def build() -> list[LocalSetting]:
        found, refused = [], []
        for dim in subject.dims:
            for kind in DOMAINS.get(dim, {}):
                domain = domain_in(subject.registry, kind, dim)
                try:
                    basis = subject.make(site_on(domain, kind), dim=dim)
                except (GeometryError, SpecError) as error:  # it may be made for some shapes only
                    refused.append(f"{kind}: {error}")
                    continue
                found.append(LocalSetting(kind, domain, basis))
        if not found and refused:
            raise GeometryError(f"it refuses every domain that is tried: {'; '.join(refused)}")
        applies_if(found, f"there is no first-party domain in {subject.dims} dimensions")
        return found

    made: list[LocalSetting] = subject.once("local settings", build)
    good = all(isinstance(setting.basis, LocalBasis) for setting in made)
    applies_if(good, "it is no LocalBasis: see local-capability-is-true")
    return made


Measure = Callable[[LocalSetting], float]


def local_check(group: str, limit: float, what: str, affine: bool = False) -> Callable[[Measure], Measure]:
    """Add a check of local bases to the kit: a function that measures one, of which the largest value over all domains counts;
    ``affine``: over those where all cells are affine images of the reference cell."""

    def add(measure: Measure) -> Measure:
        @wraps(measure)
        def run(subject: Subject) -> Finding:
            chosen = [s for s in local_settings(subject) if s.affine or not affine]
            applies_if(chosen, "no domain that is tried has affine cells only")
            return Finding.worst(((measure(s), s.label) for s in chosen), limit, what)

        check("basis", group=group)(run)
        return measure

    return add


# --- functions on cells ---------------------------------------------------------------------------------------------------


def smooth_function(x: Tensor) -> Tensor:
    """A smooth function without any symmetry, at points (..., dim)."""
    return torch.exp(0.8 * x[..., 0]) * torch.sin(2.1 * x[..., 0] - 1.7 * x[..., -1] + 0.4)


def random_functions(basis: LocalBasis, k: int = 3) -> Array:
    """Coefficients (k, M)."""
    return np.random.default_rng(7).uniform(-1.0, 1.0, (k, basis.size))


def values_on(group: Cells | EdgeCells, a: Array) -> Array:
    """u at the nodes of cells, (k, E, q), for coefficients (k, M)."""
    return a[:, group.functions] @ group.values.T


def gradients_on(cells: Cells, a: Array) -> Array:
    """∂u/∂x_j at the nodes of cells, (k, dim, E, q)."""
    reference = np.einsum("kem,iqm->kieq", a[:, cells.functions], cells.slopes)
    inverse = np.broadcast_to(cells.inverse, (*cells.points.shape, cells.points.shape[-1]))
    return np.einsum("eqij,kieq->kjeq", inverse, reference)


def nodes_of(group: Cells | EdgeCells) -> Tensor:
    """The nodes in a row, (E·q, dim)."""
    return as_points(group.points.reshape(-1, group.points.shape[-1]))


def edge_groups(setting: LocalSetting) -> Iterator[tuple[str, list[EdgeCells]]]:
    """Every segment of ∂Ω with its cells."""
    for segment in setting.domain.segments:
        yield segment.name, [e for e in setting.basis.edges if e.segment == segment.name and len(e.functions)]


def evaluated(basis: LocalBasis, a: Array, points: Tensor, axis: int | None = None) -> Array:
    """u, or ∂u/∂x_axis, at points (n, dim): (k, n)."""
    alpha = tuple(int(i == axis) for i in range(basis.dim))
    return basis.evaluate(torch.from_numpy(a), points, alpha).detach().numpy()


def apart(found: Array, right: Array, scale: float = 0.0) -> float:
    """max|found − right| divided by the larger of max|right| and ``scale``; numpy propagates what is not a number."""
    if found.shape != right.shape:
        return np.inf
    size = max(float(np.abs(right).max(initial=0.0)), scale) or 1.0
    return float(np.abs(found - right).max(initial=0.0)) / size
