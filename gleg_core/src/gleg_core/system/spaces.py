"""The domain, the basis and every field in its admissible space."""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache as cache_result
from functools import partial

import numpy as np
import torch
from torch import Tensor

from gleg_core import threads
from gleg_core.algebra import cache
from gleg_core.algebra.boundary_system import BoundaryPoints, BoundarySystem, SegmentCondition
from gleg_core.algebra.conditions import RangeFactors
from gleg_core.algebra.frame import check_inside, fit_frame
from gleg_core.algebra.lift import Lift
from gleg_core.algebra.local_space import LocalRules, LocalSpace
from gleg_core.algebra.modes import compact
from gleg_core.algebra.space import ALGORITHM, AdmissibleSpace, Ground, Thresholds, build_space
from gleg_core.box import box_bounds
from gleg_core.capabilities import BasisCapabilities, BoundaryCapabilities
from gleg_core.contracts.basis import Basis, Frame, Site, as_points
from gleg_core.contracts.block import Traits
from gleg_core.contracts.domain import Domain
from gleg_core.contracts.local_basis import LocalBasis
from gleg_core.contracts.location import Location
from gleg_core.coordinates import COORDINATES
from gleg_core.errors import SpecError, listing
from gleg_core.expressions import Expression
from gleg_core.spec.defaults import Question, suggested
from gleg_core.spec.geometry import Assignment, assign_segments, check_geometry
from gleg_core.spec.problem import FieldSpec, Problem
from gleg_core.spec.roughness import Roughness, roughness_of
from gleg_core.spec.switching import switching_of
from gleg_core.system import identity
from gleg_core.system.discrete_field import DiscreteField
from gleg_core.system.initial import known_functions, known_on_boundary
from gleg_core.system.terms import Term

_SAMPLES_PER_WAVE = 10.0
"""Boundary samples per shortest wavelength of the basis."""
_LEAST_SAMPLES = 12
_PERIODIC_MARGIN = 0.35
_CONDITIONS_FOR_ORDER = {0: (0, 1), 1: (0, 1), 2: (1,), 3: (1, 2), 4: (2,)}
Report = Callable[[str, str], None]
"""Called with (stage, one line of facts) when a stage of the work is done."""
Rows = Callable[[FieldSpec, BoundaryPoints], BoundarySystem]
"""Of a field on the sampled boundary."""


@dataclass(frozen=True)
class Spaces:
    """Domain, basis, and every field in its admissible space."""

    domain: Domain
    basis: Basis
    fields: tuple[DiscreteField, ...]
    cached: bool


def build_spaces(problem: Problem, terms: Sequence[Term], report: Report = lambda stage, facts: None) -> Spaces:
    """The admissible space of every field; ``terms`` say how many boundary conditions its equation needs."""
    domain: Domain = problem.build(problem.domain)
    assignments = assign_segments(problem, domain)
    check_geometry(problem, domain)
    basis = _basis(problem, domain)

    def rows(field: FieldSpec, points: BoundaryPoints) -> BoundarySystem:
        system = BoundarySystem(points, _conditions(problem, field, assignments[field.name]))
        _check_order(problem, field, system, terms)
        return system

    if isinstance(basis, LocalBasis):
        return _local_spaces(problem, domain, basis, rows, report)
    with threads.for_matrices(basis.size):
        return _spaces(problem, domain, basis, assignments, rows, report)


def _spaces(
    problem: Problem, domain: Domain, basis: Basis, assignments: Mapping[str, Assignment], rows_of: Rows, report: Report
) -> Spaces:
    space = problem.section.space
    places, weights = _quadrature(problem, domain, 2.0 * basis.bandwidth * space.oversampling)
    nodes = Location(places, weights=weights)
    points = _boundary_points(problem, domain, basis)
    for name, place in (("a boundary sample", points.at.x), ("a quadrature node", nodes.x)):
        check_inside(basis.frame, place.numpy(), periodic=basis.periodic, what=name)
    _report_domain(report, domain, weights)
    products = cache_result(partial(basis.products, nodes.x, weights))
    ground = Ground(basis, nodes, basis.transform(nodes.x), products, space.quadrature)
    fields, cached = [], True
    known: dict[str, AdmissibleSpace] = {}
    for field in problem.fields:
        rows = rows_of(field, points)
        key, admissible, hit = _space(problem, ground, rows, assignments[field.name], known)
        known[key], cached = admissible, cached and hit
        lift = Lift.of(admissible, problem.section.time.start, space.lift != "minimum-norm")
        fields.append(DiscreteField.make(field.name, admissible, lift))
        d = admissible.diagnostics
        report("space", f"{field.name}: M {d['M']}, boundary rank {d['rank']} of {d['boundary_rows']} rows, r {d['r']}"
               + (" (cached)" if hit else ""))  # fmt: skip
    return Spaces(domain, basis, tuple(fields), cached)


def _report_domain(report: Report, domain: Domain, weights: Tensor) -> None:
    area = f"area {weights.sum().item():.4g}"
    report("domain", f"{area}, {len(domain.segments)} boundary segments, {len(weights):,} nodes")


def _local_spaces(problem: Problem, domain: Domain, basis: LocalBasis, rows_of: Rows, report: Report) -> Spaces:
    """Spaces on a local basis: rules are the basis' own, and conditions need no null space."""
    rules = LocalRules.of(basis, domain)
    _report_domain(report, domain, rules.weights)
    reason = f" ({problem.basis.reason})" if problem.basis.reason else ""
    report("basis", basis.describe() + reason)
    stretches = switching_of(problem).stretches(problem.section.time.start, problem.section.time.end)
    fields = []
    for field in problem.fields:
        local = LocalSpace.of(basis, rules, rows_of(field, rules.points))
        space: LocalSpace | AdmissibleSpace = local
        lift, rank, facts = Lift.local(local, stretches), problem.section.space.rank, ""
        if rank != "auto":
            space, lift = compact(local, lift, rank)
            facts = f", the smoothest of {local.r:,}"
        fields.append(DiscreteField.make(field.name, space, lift))
        report("space", f"{field.name}: {space.r:,} unknowns{facts}")
    return Spaces(domain, basis, tuple(fields), False)


def _quadrature(problem: Problem, domain: Domain, wavenumber: float) -> tuple[Tensor, Tensor]:
    """Nodes (n, dim) and weights (n,), kept on disk."""
    tolerance = problem.section.space.quadrature

    def make() -> dict[str, Tensor]:
        rule = domain.quadrature(wavenumber, tolerance)
        return {"points": as_points(rule.points), "weights": as_points(rule.weights)}

    rule = cache.made_once(["quadrature", identity.of_domain(problem, domain), repr((wavenumber, tolerance))], make)
    return rule["points"], rule["weights"]


def _boundary_points(problem: Problem, domain: Domain, basis: Basis) -> BoundaryPoints:
    """Samples of the boundary, kept on disk."""

    def make() -> dict[str, Tensor]:
        made = BoundaryPoints.sample(domain, _sample_count(problem, domain, basis))
        sizes = torch.tensor([span.stop - span.start for span in made.spans.values()])
        assert made.at.normal is not None
        return {"points": made.at.x, "normals": made.at.normal, "weights": made.weights, "sizes": sizes}

    asked = repr((basis.bandwidth, problem.section.space.boundary_samples))
    kept = cache.made_once(["boundary", identity.of_domain(problem, domain), asked], make)
    return BoundaryPoints.of(domain, kept["points"], kept["normals"], kept["weights"], kept["sizes"].tolist())


def _basis(problem: Problem, domain: Domain) -> Basis:
    space = problem.section.space
    stated = problem.basis.installed.capabilities(BasisCapabilities)
    if space.box == "auto":
        # periodic functions need room to turn around in; others resolve best on the smallest box
        margin = (_PERIODIC_MARGIN if stated.periodic else 0.0) if space.margin == "auto" else space.margin
        rotate = space.rotate if stated.isotropic else False
        frame = fit_frame(domain, margin=margin, isotropic=stated.isotropic, rotate=rotate)
    else:
        bounds = box_bounds(space.box, domain.dim)
        frame = Frame(bounds.mean(axis=1), (bounds[:, 1] - bounds[:, 0]) / 2, np.eye(domain.dim))
    rough = roughness_of(problem, domain)
    if not stated.local:
        if rough.reasons:
            warnings.warn(_not_smooth(problem, rough), stacklevel=2)
        return problem.build(problem.basis, Site(frame, domain))

    def at_points(level: Expression, points: np.ndarray) -> np.ndarray:
        place = dict(zip(COORDINATES, points.T, strict=False))
        return np.broadcast_to(level(t=problem.section.time.start, **place), len(points))

    levels = tuple(partial(at_points, level) for level in rough.interfaces)
    known = known_functions(problem), known_on_boundary(problem, domain)
    regions = tuple(region.domain for region in rough.regions)
    return problem.build(problem.basis, Site(frame, domain, rough.points, levels, *known, regions))


def _not_smooth(problem: Problem, rough: Roughness) -> str:
    """That the basis does not suit the solution, and which one the packs would choose, if they know a better one."""
    key, question = problem.basis.key, Question("basis", problem, problem.scope, problem.registry)
    found = None if problem.section.basis is None else suggested(question)
    better = "" if found is None or found.kind == key else f". Without the key 'basis' {found.kind} is chosen"
    return (
        f"{problem.document.name}: the solution is not smooth ({rough.sentence}), and functions of the basis '{key}' are: "
        f"errors may be large however many there are{better}"
    )


def _sample_count(problem: Problem, domain: Domain, basis: Basis) -> Callable[[float], int]:
    if domain.dim == 1:
        return lambda length: 1
    wanted = problem.section.space.boundary_samples
    if wanted == "auto":
        per_length = _SAMPLES_PER_WAVE * basis.bandwidth / (2 * math.pi)
    else:
        per_length = wanted / sum(s.length for s in domain.segments)
    return lambda length: max(_LEAST_SAMPLES, math.ceil(per_length * length))


def _conditions(problem: Problem, field: FieldSpec, assignment: Assignment) -> tuple[SegmentCondition, ...]:
    found = []
    for segment, spec in assignment.items():
        exact, label = field.section.exact if spec.data_from_exact else None, problem.document.locate(spec.place)
        found.append(SegmentCondition(segment, problem.build(spec.operator), exact, label))
    return tuple(found)


def _admitted(traits: Traits) -> set[int]:
    """Numbers of conditions at a boundary point: order/2, or fewer where others are natural."""
    if traits.conditions is not None:
        return {traits.conditions, *range(traits.conditions, traits.order // 2 + 1)}
    return set(_CONDITIONS_FOR_ORDER.get(traits.order, (traits.order // 2,)))


def _check_order(problem: Problem, field: FieldSpec, system: BoundarySystem, terms: Sequence[Term]) -> None:
    """An equation of order p needs p/2 conditions at every boundary point: no fewer, unless others are natural, and no more."""
    traits = [t.block.traits for t in terms if t.field == field.name]
    order = max((t.order for t in traits), default=0)
    leading = [_admitted(t) for t in traits if t.order == order]
    allowed = sorted(set.intersection(*leading)) if leading else _CONDITIONS_FOR_ORDER[0]
    for condition in system.conditions:
        count = condition.operator.conditions
        if count not in allowed:
            wanted, known = " or ".join(map(str, allowed)), problem.registry.entries("boundary").values()
            suitable = [c.entry.name for c in known if c.capabilities(BoundaryCapabilities).conditions in allowed]
            raise SpecError(
                f"{condition.label}: {count} condition{'s' * (count != 1)} on segment '{condition.segment}', but the equation "
                f"of '{field.name}' has order {order} and needs {wanted} (installed: {listing(suitable)})"
            )


def _space(
    problem: Problem,
    ground: Ground,
    system: BoundarySystem,
    assignment: Assignment,
    known: Mapping[str, AdmissibleSpace],
) -> tuple[str, AdmissibleSpace, bool]:
    """The admissible space of one field: from this run, from the cache, or built. Fields with equal rows share it."""
    section = problem.section.space
    rank = None if section.rank == "auto" else section.rank
    thresholds = Thresholds(section.tau_C, section.tau_M, rank, section.keep == "smoothest")
    settings = f"space {ALGORITHM} {thresholds} {section.quadrature}"
    basis_from = identity.of_basis(problem, ground.basis, system.points.at.x)
    rows_from = identity.of_conditions(system, assignment)
    key = cache.digest([settings, *basis_from, ground.nodes.x, ground.weights, *rows_from])
    if key in known:
        return key, replace(known[key], boundary=system), True

    def make() -> cache.Stored:
        N, factors, diagnostics = build_space(ground, system, thresholds)
        return {"N": N, **vars(factors)}, diagnostics

    (tensors, told), hit = cache.remembered(key, make)
    N, factors = tensors.pop("N"), RangeFactors(**tensors)
    return key, AdmissibleSpace(**vars(ground), boundary=system, N=N, range=factors, diagnostics=told, key=key), hit
