"""Checks of the contract Domain in one, two and three dimensions.

Volume quadrature, boundary rule, inside test, bounds and outline are separate statements about one set Ω; most checks compare two of them.
"""

from copy import deepcopy

import numpy as np

from gleg_conformance.domain_parts import (
    Array,
    boundary_of,
    domain_of,
    ends_of,
    extent_of,
    largest,
    outlines_of,
    pieces_of,
    plane_domain_of,
    rule_of,
    wavenumber_of,
)
from gleg_conformance.kit import Finding, Subject, check, require, worst
from gleg_core.contracts.domain import Domain, Quadrature

# --- declaration --------------------------------------------------------------------------------------------------------


@check("domain", group="declaration")
def domain_is_as_declared(subject: Subject) -> None:
    """The example can be built; dimension, bounds, segments' names and lengths are as promised."""
    domain: Domain = subject.make(dim=subject.dims[0])
    stated = subject.capabilities.dim
    require(domain.dim in (1, 2, 3), f"dim must be 1, 2 or 3, found {domain.dim!r}")
    require(domain.dim == stated, f"the entry's capabilities say dim: {stated}, the domain has dim = {domain.dim}")
    bounds, names = np.asarray(domain.bounds), [segment.name for segment in domain.segments]
    require(bounds.shape == (domain.dim, 2), f"bounds have shape {bounds.shape}, (dim, 2) is needed")
    require((bounds[:, 0] < bounds[:, 1]).all(), f"bounds must be [low, high] per coordinate, found {bounds.tolist()}")
    require(bool(names) and all(isinstance(n, str) and n for n in names), f"every segment needs a name, found {names}")
    require(len(set(names)) == len(names), f"names of segments must be distinct, found {names}")
    reserved = {"all", "rest"} & set(names)
    require(not reserved, f"'{next(iter(reserved), '')}' cannot be the name of a segment: it has a meaning in `where`")
    for segment in domain.segments:
        good = np.isfinite(segment.length) and segment.length > 0
        require(good, f"segment '{segment.name}' has length {segment.length!r}, a positive number is needed")


# --- the boundary -------------------------------------------------------------------------------------------------------


@check("domain", group="interface")
def boundary_samples_have_their_shape(subject: Subject) -> None:
    """Samples hold float64 points (n, dim), normals (n, dim) and positive weights (n,), at least half as many as asked for."""
    domain = domain_of(subject)
    for segment in domain.segments:
        for n in (1, 12, 200):
            sample = segment.sample(n)
            points, normals, weights = sample.points, sample.normals, sample.weights
            told = f"segment '{segment.name}', sample({n})"
            shapes = f"points {points.shape}, normals {normals.shape}, weights {weights.shape}"
            good = points.shape == normals.shape == (len(weights), domain.dim) and weights.ndim == 1
            require(good, f"{told}: {shapes}")
            for name, array in (("points", points), ("normals", normals), ("weights", weights)):
                require(array.dtype == np.float64, f"{told}: {name} are {array.dtype}, float64 is needed")
                require(np.isfinite(array).all(), f"{told}: {name} are not all finite")
            require((weights > 0).all(), f"{told}: weights must be positive")
            enough = 1 if domain.dim == 1 else (n + 1) // 2
            require(len(weights) >= enough, f"{told} has {len(weights)} nodes only")


@check("domain", group="boundary")
def normals_have_length_one(subject: Subject) -> Finding:
    """Normals are unit vectors."""
    lengths = np.linalg.norm(boundary_of(subject).normals, axis=1)
    return Finding(largest(lengths - 1), 1e-12, "largest deviation of |n| from 1")


@check("domain", group="boundary")
def normals_point_outward(subject: Subject) -> Finding:
    """A small step from the boundary along −n is in Ω, one along +n is not."""
    domain = domain_of(subject)
    step, wrong, count = 1e-6 * extent_of(domain), 0, 0
    for segment in domain.segments:
        sample = segment.sample(60)
        inward, outward = (domain.contains(sample.points + s * step * sample.normals) for s in (-1, 1))
        for mask in (inward, outward):
            good = mask.shape == (len(sample.weights),) and mask.dtype == bool
            require(good, f"contains gives {mask.dtype} of shape {mask.shape} for {len(sample.weights)} points")
        wrong += int((~inward | outward).sum())
        count += len(sample.weights)
    return Finding(
        wrong / count, 0.0, f"{wrong} of {count} boundary points have Ω on the wrong side or on both; fraction"
    )


@check("domain", group="boundary")
def weights_sum_to_the_length(subject: Subject) -> Finding:
    """The weights of a dense sample of each segment sum to its length."""
    found = []
    for segment in domain_of(subject).segments:
        total, length = float(segment.sample(1501).weights.sum()), segment.length
        found.append((abs(total / length - 1), f"segment '{segment.name}': {total:.12g}, length {length:.12g}"))
    error, words = worst(found)
    return Finding(error, 1e-9, f"{words}; relative difference")


@check("domain", group="boundary")
def different_counts_give_different_nodes(subject: Subject) -> Finding:
    """A dense sample shares few nodes with a coarse one, so that it can check it."""
    domain, shared = plane_domain_of(subject), []
    for segment in domain.segments:
        n = max(20, 2 * len(segment.sample(1).points))
        coarse, fine = segment.sample(n).points, segment.sample(2 * n).points
        nearest = np.array([np.abs(fine - point).max(axis=1).min() for point in coarse])
        shared.append((float(np.mean(nearest < 1e-12 * extent_of(domain))), segment.name))
    fraction, name = worst(shared)
    return Finding(fraction, 0.25, f"segment '{name}': fraction of nodes of sample(n) that are nodes of sample(2n)")


@check("domain", group="boundary")
def boundary_is_closed(subject: Subject) -> Finding:
    """∮ n ds = 0: no part of the boundary is missing or covered twice."""
    boundary = boundary_of(subject)
    return Finding(largest(boundary.weights @ boundary.normals, boundary.weights.sum()), 1e-9, "|∮ n ds| / length")


# --- volume and boundary ------------------------------------------------------------------------------------------------


@check("domain", group="quadrature")
def quadrature_nodes_lie_inside(subject: Subject) -> None:
    """Volume weights are positive, nodes lie in Ω and within its bounds, all in float64."""
    domain, rule = domain_of(subject), rule_of(subject)
    points, weights = rule.points, rule.weights
    require(
        points.shape == (len(weights), domain.dim) and weights.ndim == 1,
        f"quadrature has points {points.shape} and weights {weights.shape}, (n, {domain.dim}) and (n,) are needed",
    )
    for name, array in (("points", points), ("weights", weights)):
        require(array.dtype == np.float64, f"quadrature {name} are {array.dtype}, float64 is needed")
        require(np.isfinite(array).all(), f"quadrature {name} are not all finite")
    negative = int((weights <= 0).sum())
    require(negative == 0, f"{negative} of {len(weights)} quadrature weights are not positive")
    beyond = int((~domain.contains(points)).sum())
    require(beyond == 0, f"{beyond} of {len(weights)} quadrature nodes are not in Ω by contains")
    low, high = domain.bounds.T
    require(((points >= low) & (points <= high)).all(), "quadrature nodes lie outside bounds")


@check("domain", group="quadrature")
def areas_agree(subject: Subject) -> Finding:
    """measure, the sum of the volume weights and ∮ x·n ds / dim are one number."""
    domain, boundary = domain_of(subject), boundary_of(subject)
    middle = domain.bounds.mean(axis=1)
    flux = float(boundary.weights @ ((boundary.points - middle) * boundary.normals).sum(axis=1)) / domain.dim
    found = {"measure": domain.measure, "quadrature": float(rule_of(subject).weights.sum()), "boundary": flux}
    told = ", ".join(f"{name} {value:.12g}" for name, value in found.items())
    return Finding(largest(np.ptp(list(found.values())), abs(flux)), 1e-9, f"{told}; relative difference")


@check("domain", group="quadrature")
def divergence_theorem(subject: Subject) -> Finding:
    """∫_Ω ∇·F dx = ∮ F·n ds for polynomial and other smooth fields F."""
    domain, rule, boundary = domain_of(subject), rule_of(subject), boundary_of(subject)
    middle, extent = domain.bounds.mean(axis=1), extent_of(domain)
    inside, rim = (2 * (points - middle) / extent for points in (rule.points, boundary.points))
    errors = []
    for i in range(domain.dim):
        for (_, slope), (f, _) in zip(_profiles(inside, i), _profiles(rim, i), strict=True):
            volume, flux = rule.weights @ slope * 2 / extent, boundary.weights @ (f * boundary.normals[:, i])
            errors.append((volume - flux) / (boundary.weights @ np.abs(f)))
    return Finding(largest(np.array(errors)), 1e-9, "|∫∇·F − ∮F·n| / ∮|F|")


def _profiles(x: Array, i: int) -> list[tuple[Array, Array]]:
    """f and ∂f/∂x_i at points (n, dim) for fields F = f e_i."""
    own, next_one = x[:, i], x[:, (i + 1) % x.shape[1]]
    others = 2 + (next_one if x.shape[1] > 1 else 0 * own)
    grown = np.exp(x.sum(axis=1))
    return [(own**3 * others, 3 * own**2 * others), (grown, grown), (np.sin(3 * own + 0.5), 3 * np.cos(3 * own + 0.5))]


@check("domain", group="quadrature")
def waves_are_integrated(subject: Subject) -> Finding:
    """exp(iκ·x) with |κ| up to the wavenumber asked for is integrated as the boundary rule integrates its flux."""
    domain, rule, boundary = domain_of(subject), rule_of(subject), boundary_of(subject)
    kappa = _wavevectors(domain)
    volume = _waves(domain, rule)
    normal = kappa @ boundary.normals.T / (1j * (kappa**2).sum(axis=1)[:, None])
    flux = (np.exp(1j * kappa @ boundary.points.T) * normal) @ boundary.weights
    error = largest(volume - flux, rule.weights.sum())
    return Finding(error, 1e-9, "|∫exp(iκ·x) dx − its boundary integral| / area")


@check("domain", group="quadrature")
def a_larger_wavenumber_gives_a_finer_rule(subject: Subject) -> Finding:
    """A rule for twice the wavenumber has more nodes and the same integrals of waves."""
    domain = domain_of(subject)
    rules = [rule_of(subject), rule_of(subject, 2.0)]
    counts = [len(rule.weights) for rule in rules]
    require(counts[1] > counts[0], f"quadrature(w) has {counts[0]} nodes, quadrature(2w) {counts[1]}: more are needed")
    coarse, fine = (_waves(domain, rule) for rule in rules)
    return Finding(largest(coarse - fine, rules[1].weights.sum()), 1e-9, "difference of the integrals of waves / area")


@check("domain", group="quadrature")
def a_tolerance_is_kept(subject: Subject) -> Finding:
    """quadrature(w, tolerance) integrates waves to about that tolerance, with positive weights inside Ω and no more nodes."""
    domain, best = domain_of(subject), rule_of(subject)
    exact, errors = _waves(domain, best), []
    for tolerance in (1e-3, 1e-6):
        rule = domain.quadrature(wavenumber_of(domain), tolerance)
        require((rule.weights > 0).all(), f"quadrature(w, {tolerance:g}) has weights that are not positive")
        require(domain.contains(rule.points).all(), f"quadrature(w, {tolerance:g}) has nodes that are not in Ω")
        counts = len(rule.weights), len(best.weights)
        require(
            counts[0] <= counts[1], f"quadrature(w, {tolerance:g}) has {counts[0]} nodes, quadrature(w) {counts[1]}"
        )
        errors.append(largest(_waves(domain, rule) - exact, best.weights.sum()) / tolerance)
    return Finding(largest(np.array(errors)), 20.0, "error of the integrals of waves / (tolerance · area)")


def _wavevectors(domain: Domain) -> Array:
    """κ of all directions with lengths from a tenth of the wavenumber up to it, shape (16, dim)."""
    random = np.random.default_rng(3)
    directions = random.standard_normal((16, domain.dim))
    lengths = np.append(np.ones(8), random.uniform(0.1, 1, 8))
    return wavenumber_of(domain) * lengths[:, None] * directions / np.linalg.norm(directions, axis=1, keepdims=True)


def _waves(domain: Domain, rule: Quadrature) -> Array:
    """∫ exp(iκ·x) dx by a rule, for all wavevectors."""
    return np.exp(1j * _wavevectors(domain) @ rule.points.T) @ rule.weights


# --- inside test, bounds, outline -----------------------------------------------------------------------------------------


@check("domain", group="geometry")
def inside_test_agrees_with_the_boundary(subject: Subject) -> Finding:
    """contains is true where the boundary winds around a point: ∮ n·(y − x)/|y − x|^d ds is the area of the unit sphere."""
    domain, boundary = domain_of(subject), boundary_of(subject)
    low, high = domain.bounds.T
    random = np.random.default_rng(4)
    points = random.uniform(low - 0.2 * (high - low), high + 0.2 * (high - low), (600, domain.dim))
    away = boundary.points[None] - points[:, None]
    distance = np.linalg.norm(away, axis=2)
    winding = ((away * boundary.normals).sum(axis=2) / distance**domain.dim) @ boundary.weights
    winding /= (2.0, 2 * np.pi, 4 * np.pi)[domain.dim - 1]
    # A sampled boundary tells sides apart from a few spacings on.
    spacing = boundary.weights.max() ** (1 / max(1, domain.dim - 1)) if domain.dim > 1 else 0.0
    far = distance.min(axis=1) > 4 * spacing
    wrong = domain.contains(points)[far] != (winding[far] > 0.5)
    return Finding(
        float(wrong.mean()), 0.0, f"fraction of {int(far.sum())} points where contains and the boundary disagree"
    )


@check("domain", group="geometry")
def bounds_are_tight(subject: Subject) -> Finding:
    """The boundary lies within bounds and touches every side of them."""
    domain, extent = domain_of(subject), extent_of(domain_of(subject))
    points = np.concatenate([piece for segment in domain.segments for piece in pieces_of(segment, 4000)])
    box = np.column_stack([points.min(axis=0), points.max(axis=0)])
    beyond = float(np.max((domain.bounds - box) * [1, -1]))
    require(beyond <= 1e-9 * extent, f"the boundary reaches {beyond:.3g} beyond bounds")
    limit = 1e-5 if domain.dim < 3 else 1e-2
    return Finding(largest(domain.bounds - box, extent), limit, "gap between bounds and the outline / extent")


@check("domain", group="geometry")
def outlines_close(subject: Subject) -> Finding:
    """Pieces of outlines meet end to end: every end is the end of another piece, or a piece is a loop."""
    outlines, domain = outlines_of(subject), plane_domain_of(subject)
    ends = ends_of([piece for pieces in outlines for piece in pieces])
    distance = np.linalg.norm(ends[:, None] - ends[None], axis=2)
    np.fill_diagonal(distance, np.inf)
    return Finding(
        largest(distance.min(axis=1), extent_of(domain)), 1e-8, "largest gap between an end and the nearest / extent"
    )


@check("domain", group="geometry")
def outlines_have_the_length(subject: Subject) -> Finding:
    """A fine outline of each segment is as long as the segment."""
    outlines, domain, found = outlines_of(subject), plane_domain_of(subject), []
    for segment, pieces in zip(domain.segments, outlines, strict=True):
        drawn, length = sum(np.linalg.norm(np.diff(piece, axis=0), axis=1).sum() for piece in pieces), segment.length
        found.append(
            (float(abs(drawn / length - 1)), f"segment '{segment.name}': drawn {drawn:.6g}, length {length:.6g}")
        )
    error, words = worst(found)
    return Finding(error, 1e-3, f"{words}; relative difference")


@check("domain", group="geometry")
def samples_lie_on_the_outline(subject: Subject) -> Finding:
    """Sampled points of each segment lie on its outline, as close as straight lines between outline points allow."""
    domain, outlines = domain_of(subject), outlines_of(subject)
    distances = []
    for segment, pieces in zip(domain.segments, outlines, strict=True):
        ends = [np.append(piece[1:], piece[-1:], axis=0) for piece in pieces]  # the last chord of each has no length
        chords = np.concatenate([np.concatenate(pieces), np.concatenate(ends)], axis=1)
        distances.append(_distance(segment.sample(50).points[:200], chords))
    error = largest(np.concatenate(distances), extent_of(domain))
    return Finding(error, 1e-4, "largest distance from a sample to the outline / extent")


def _distance(points: Array, chords: Array) -> Array:
    """Distance of points (n, d) to the nearest of straight pieces (m, 2d), shape (n,)."""
    start, stop = np.split(chords, 2, axis=1)
    along = stop - start
    square = np.maximum((along**2).sum(axis=1), 1e-300)
    away = points[:, None] - start
    fraction = np.clip((away * along).sum(axis=2) / square, 0, 1)
    return np.linalg.norm(away - fraction[..., None] * along, axis=2).min(axis=1)


# --- repetition ---------------------------------------------------------------------------------------------------------


def _answers(domain: Domain, rule: Quadrature) -> dict[str, Array]:
    """What a domain returns, by name; ``rule`` is one of its quadratures, which may have taken long."""
    answers = {"quadrature points": rule.points, "quadrature weights": rule.weights, "bounds": domain.bounds}
    for segment in domain.segments:
        sample, of = segment.sample(40), f"of segment '{segment.name}'"
        answers |= {f"points {of}": sample.points, f"normals {of}": sample.normals, f"weights {of}": sample.weights}
        answers[f"outline {of}"] = segment.outline(40)
    return answers


def _differing(one: dict[str, Array], other: dict[str, Array]) -> str:
    """Names of answers that are not the same bit by bit."""
    return ", ".join(name for name in one if not np.array_equal(one[name], other[name], equal_nan=True))


@check("domain", group="interface")
def domains_repeat_bit_by_bit(subject: Subject) -> None:
    """Another domain of the same parameters gives the same rules, samples and outlines, and so does one asked again."""
    domain, (_, _, others) = domain_of(subject), _second(subject)
    first = deepcopy(_answers(domain, rule_of(subject)))
    for again, what in (
        (_answers(domain, domain.quadrature(wavenumber_of(domain))), "the domain is asked again"),
        (others, "another domain of the same parameters is asked"),
    ):
        differing = _differing(first, again)
        require(not differing, f"{differing} differ when {what}")


@check("domain", group="interface")
def returned_arrays_belong_to_the_caller(subject: Subject) -> None:
    """Writing into arrays a domain has returned is refused, or does not change its later answers."""
    wavenumber = wavenumber_of(domain_of(subject))
    domain, returned, before = _second(subject)
    for answer in returned.values():
        if answer.flags.writeable:
            answer += 1.0
    changed = _differing(before, _answers(domain, domain.quadrature(wavenumber)))
    require(not changed, f"a caller who writes into returned arrays changes later answers: {changed}. Return copies")


def _second(subject: Subject) -> tuple[Domain, dict[str, Array], dict[str, Array]]:
    """Another domain of the same parameters, what it first returned, and copies of that."""

    def build() -> tuple[Domain, dict[str, Array], dict[str, Array]]:
        domain = subject.make(dim=subject.dims[0])
        returned = _answers(domain, domain.quadrature(wavenumber_of(domain_of(subject))))
        return domain, returned, deepcopy(returned)

    return subject.once("second", build)
