"""Residuals of the boundary conditions on points of ∂Ω that the solver has not seen."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gleg_core.algebra.boundary_system import BoundaryPoints, BoundarySystem, jet_on
from gleg_core.algebra.tables import Tables
from gleg_core.contracts.domain import Domain
from gleg_core.contracts.jet import Jet
from gleg_core.contracts.local_basis import LocalBasis
from gleg_core.system.discrete_field import DiscreteField
from gleg_results.coordinates import column

_TINY = 1e-300


@dataclass(frozen=True)
class TraceResidual:
    """RMS over ``points`` of ∂Ω (weighted by arclength) and saved times of one trace of B u − g: absolute, and relative to the
    RMS over Ω of u (``of`` value) or of |∇u| (``of`` derivative)."""

    segment: str
    trace: int
    of: str
    points: int
    unseen: bool
    length: float
    rms: float
    relative: float


def boundary_residuals(field: DiscreteField, domain: Domain, a: Tensor, times: Sequence[float]) -> list[TraceResidual]:
    """One residual per segment and trace, for coefficients (F, M) at ``times``. On local functions, conditions on the normal derivative
    hold through the weak form: the derivative at a point, unbounded beside corners, is no residual."""
    system = field.space.boundary
    dense = _dense(domain, system.points)
    unseen = BoundarySystem(dense, system.conditions)
    scales = field_scales(field, a)
    found = []
    for condition, at in zip(unseen.conditions, unseen.locations, strict=True):
        span, operator = dense.spans[condition.segment], condition.operator
        if operator.flux is not None and isinstance(field.space.basis, LocalBasis):
            continue
        fresh = _fresh(at.x, system.points.at.x[system.points.spans[condition.segment]])
        keep = fresh if fresh.any() else ~fresh
        weights = dense.weights[span] * keep
        u = jet_on(at, lambda place: Jet(Tables(field.space.basis, a.T, place.x), place.dim))
        traces = operator.traces(u, at)
        length = float(weights.sum())
        for i, (trace, data) in enumerate(zip(traces, condition.data(at.moment(column(times))), strict=True)):
            order = min(1, operator.order - (operator.conditions - 1 - i))
            rms = float((((trace - data) ** 2) @ weights / length).mean().sqrt())
            facts = ("value", "derivative")[order], int(keep.sum()), bool(fresh.any()), length, rms, rms / scales[order]
            found.append(TraceResidual(condition.segment, i, *facts))
    return found


def total(residuals: Sequence[TraceResidual]) -> dict[str, float]:
    """RMS over all traces and segments by length, and the largest relative one."""
    length = sum(r.length for r in residuals)
    rms = (sum(r.length * r.rms**2 for r in residuals) / length) ** 0.5 if length else 0.0
    return {"rms": rms, "relative": float(np.max([0.0, *(r.relative for r in residuals)]))}


def field_scales(field: DiscreteField, a: Tensor) -> tuple[float, float]:
    """RMS of u and of |∇u| over Ω and saved times."""
    weights = field.space.weights / field.space.weights.sum()
    jet = Jet(Tables(field.space.basis, a.T, field.space.nodes.x), field.space.basis.dim)
    value = float(((jet.value**2) @ weights).mean().sqrt())
    slope = float((torch.stack([g**2 for g in jet.grad]).sum(dim=0) @ weights).mean().sqrt())
    return max(value, _TINY), max(slope, _TINY)


def _dense(domain: Domain, used: BoundaryPoints) -> BoundaryPoints:
    """Some four times as many points on every segment."""
    spans = (used.spans[segment.name] for segment in domain.segments)
    counts = iter([1 if domain.dim == 1 else 4 * (span.stop - span.start) + 7 for span in spans])
    return BoundaryPoints.sample(domain, lambda length: next(counts))


def _fresh(points: Tensor, used: Tensor) -> Tensor:
    """Mask of the points that are none of the samples the conditions were imposed at; an end point in one dimension is."""
    spacing = float((used.amax(dim=0) - used.amin(dim=0)).max()) / len(used)
    exact = "donot_use_mm_for_euclid_dist"  # products of matrices would round differences away
    distance = torch.cat([torch.cdist(part, used, compute_mode=exact).amin(dim=1) for part in points.split(1000)])
    return (distance > 1e-6 * spacing) & (spacing > 0)
