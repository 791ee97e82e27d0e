"""The domain of an example and its parts, built once for all checks."""

import numpy as np

from gleg_conformance.kit import Subject, applies_if, not_applicable
from gleg_core.contracts.domain import BoundarySample, Domain, Quadrature, Segment

Array = np.ndarray


def domain_of(subject: Subject) -> Domain:
    """The domain of the example; what prevents it is told by one check only."""
    try:
        return subject.once("domain", lambda: subject.make(dim=subject.dims[0]))
    except Exception:
        not_applicable("the domain cannot be built: see domain-is-as-declared")


def plane_domain_of(subject: Subject) -> Domain:
    """The domain of the example, if its boundary is more than two points."""
    domain = domain_of(subject)
    applies_if(domain.dim > 1, "the boundary of an interval is two points")
    return domain


def extent_of(domain: Domain) -> float:
    return float(np.ptp(domain.bounds, axis=1).max())


def wavenumber_of(domain: Domain) -> float:
    """The wavenumber that quadrature rules are asked for: a phase of 40 over the extent."""
    return 40.0 / extent_of(domain)


def rule_of(subject: Subject, factor: float = 1.0) -> Quadrature:
    domain = domain_of(subject)
    return subject.once(f"rule {factor}", lambda: domain.quadrature(factor * wavenumber_of(domain)))


def boundary_of(subject: Subject) -> BoundarySample:
    """A dense rule on the whole of ∂Ω."""

    def build() -> BoundarySample:
        domain = domain_of(subject)
        samples = [segment.sample(1500 if domain.dim < 3 else 6000) for segment in domain.segments]
        parts = ([getattr(s, name) for s in samples] for name in ("points", "normals", "weights"))
        return BoundarySample(*(np.concatenate(part) for part in parts))

    return subject.once("boundary", build)


def pieces_of(segment: Segment, n: int) -> list[Array]:
    """The connected pieces of an outline, each (m, dim)."""
    outline = segment.outline(n)
    gaps = np.flatnonzero(np.isnan(outline).any(axis=1))
    parts = [part[np.isfinite(part).all(axis=1)] for part in np.split(outline, gaps)]
    return [part for part in parts if len(part)]


def outlines_of(subject: Subject) -> list[list[Array]]:
    domain = domain_of(subject)
    applies_if(domain.dim < 3, "in three dimensions an outline is no curve")
    return subject.once("outlines", lambda: [pieces_of(segment, 4000) for segment in domain.segments])


def ends_of(pieces: list[Array]) -> Array:
    """First and last points of pieces, (2m, dim)."""
    return np.array([piece[i] for piece in pieces for i in (0, -1)])


def largest(error: Array | float, scale: Array | float = 1.0) -> float:
    """max|error| / scale; numpy propagates what is not a number."""
    return float(np.max(np.abs(error) / scale)) if np.size(error) else 0.0
