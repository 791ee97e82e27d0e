"""Checks of the contract BoundaryOperator, on the rim of an ellipsoid (two points in one dimension) with jets of known functions."""

import math
from collections.abc import Callable, Iterator
from functools import cache, wraps
from itertools import product

import numpy as np
import torch
from torch import Tensor

from gleg_conformance.basis_settings import multi_indices, relative, slope
from gleg_conformance.kit import Finding, Subject, Violation, applies_if, check, require
from gleg_core.algebra.boundary_system import expression_jet, spread
from gleg_core.contracts.basis import as_points
from gleg_core.contracts.boundary import BoundaryOperator
from gleg_core.contracts.jet import Jet, MultiIndex
from gleg_core.contracts.location import COORDINATES, Datum, Location
from gleg_core.expressions import Expression, formula

_TEXTS = {
    1: ("sin(1.3*x + 0.4)*exp(0.3*x)", "x^3 - 0.5*x + 0.2"),
    2: ("sin(1.3*x - 0.8*y + 0.4)*exp(0.3*y)", "x^3 - 0.5*x*y^2 + y + 0.2"),
    3: ("sin(1.3*x - 0.8*y + 0.7*z + 0.4)*exp(0.3*y)", "x^3 - 0.5*x*y*z + z^2 + 0.2"),
}
"""Two smooth functions of the coordinates per dimension."""


Measure = Callable[[BoundaryOperator, Location], float]

# --- where, and what of --------------------------------------------------------------------------------------------------


@cache
def _directions(dim: int, n: int, phase: float) -> np.ndarray:
    """About n unit vectors spread over the sphere, shape (n, dim); two in one dimension."""
    k = np.arange(n) + phase
    if dim == 1:
        return np.array([[-1.0], [1.0]])
    if dim == 2:
        return np.column_stack([np.cos(2 * np.pi * k / n), np.sin(2 * np.pi * k / n)])
    height, angle = 1 - 2 * k / n, np.pi * (1 + math.sqrt(5)) * k
    ring = np.sqrt(1 - height**2)
    return np.column_stack([ring * np.cos(angle), ring * np.sin(angle), height])


def _rim(dim: int, n: int = 16, phase: float = 0.5, t: float = 0.3) -> Location:
    """Points of an ellipse with unequal axes, or of a sphere, off the origin, with outward unit normals
    and weights of arclength or area."""
    centre, axes = np.array([0.1, -0.05, 0.08])[:dim], np.array([0.7, 0.7, 0.5])[-dim:]
    unit_vectors = _directions(dim, n, phase)
    normals = unit_vectors / axes
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    elements = {1: 2.0, 2: 2 * np.pi, 3: 4 * np.pi}[dim] / len(unit_vectors) * axes.prod() * lengths[:, 0]
    return Location(as_points(centre + axes * unit_vectors), t, as_points(normals / lengths), as_points(elements))


def _functions(at: Location) -> list[Jet]:
    return [expression_jet(formula(text, COORDINATES[: at.dim]), at) for text in _TEXTS[at.dim]]


def _monomials(at: Location, degree: int) -> Jet:
    """All products of powers of the coordinates up to a total degree, as a batch of M functions."""
    powers = multi_indices(at.dim, degree)

    def derivative(alpha: MultiIndex) -> Tensor:
        rows = []
        for m in powers:
            factor = math.prod(math.perm(k, a) for k, a in zip(m, alpha, strict=True))  # 0 where a > k
            rest = at.x.new_tensor([max(k - a, 0) for k, a in zip(m, alpha, strict=True)])
            rows.append(factor * torch.prod(at.x**rest, dim=1))
        return torch.stack(rows)

    return Jet(derivative, at.dim)


def _operators(subject: Subject) -> Iterator[tuple[BoundaryOperator, Location]]:
    """The condition in each dimension declared, and points of a rim."""
    for dim in subject.dims:
        operator: BoundaryOperator = subject.make(dim=dim)
        joins_two = operator.partner is not None
        applies_if(not joins_two, "a condition that joins two segments is not examined: there is only one here")
        yield operator, _rim(dim)


def _traces(operator: BoundaryOperator, u: Jet, at: Location) -> Tensor:
    """All traces along a new first axis, with shapes as promised: constants and missing batch axes are not accepted silently."""
    shape = u.value.shape
    traces = list(operator.traces(u, at))
    for i, trace in enumerate(traces):
        require(isinstance(trace, Tensor), f"trace {i} is {type(trace).__name__}, a tensor is needed")
        require(trace.shape == shape, f"trace {i} of values {tuple(shape)} has shape {tuple(trace.shape)}")
    return torch.stack(traces) if traces else u.value.new_zeros(0, *shape)


def _boundary_check(
    group: str, limit: float, what: str, needs: str = "conditions", otherwise: str = "the condition has no traces"
) -> Callable[[Measure], Measure]:
    """Add a check to the kit: a function that measures a condition on a rim, of which the largest value over dimensions counts.

    It does not apply to conditions whose attribute ``needs`` is empty in every dimension.
    """

    def add(measure: Measure) -> Measure:
        @wraps(measure)
        def run(subject: Subject) -> Finding:
            operators = list(_operators(subject))
            applies_if(any(getattr(operator, needs) for operator, _ in operators), otherwise)
            return Finding.worst(((measure(operator, at), f"{at.dim}-D") for operator, at in operators), limit, what)

        check("boundary", group=group)(run)
        return measure

    return add


# --- declaration --------------------------------------------------------------------------------------------------------


@check("boundary", group="declaration")
def conditions_are_counted_right(subject: Subject) -> None:
    """conditions is the number of traces and of data, and what the entry states."""
    stated = subject.capabilities.conditions
    for operator, at in _operators(subject):
        found = {
            "conditions": operator.conditions,
            "traces": len(operator.traces(_functions(at)[0], at)),
            "data": len(operator.data()),
            "the entry's capabilities": operator.conditions if stated is None else stated,
        }
        told = ", ".join(f"{name}: {count}" for name, count in found.items())
        require(len(set(found.values())) == 1, f"numbers of conditions differ: {told}")


@check("boundary", group="declaration")
def normal_order_is_true(subject: Subject) -> None:
    """order is the highest normal derivative that the traces respond to, no more and no less."""
    for operator, at in _operators(subject):
        applies_if(operator.conditions, "the condition has no traces")
        require(
            isinstance(operator.order, int) and operator.order >= 0, f"order is {operator.order!r}, not a whole number"
        )
        seen = [k for k in range(operator.order + 4) if _traces(operator, _along(at, k), at).any()]
        require(seen, "no trace responds to any normal derivative")
        require(
            max(seen) == operator.order,
            f"order = {operator.order} is declared, but the highest normal derivative in the traces is {max(seen)}",
        )


def _along(at: Location, k: int) -> Jet:
    """s^k/k! with s the distance along the normal at each point: its derivatives are n^α for |α| = k, else 0."""
    normal = at.normal
    assert normal is not None

    def derivative(alpha: MultiIndex) -> Tensor:
        return torch.prod(normal ** normal.new_tensor(alpha), dim=1) * float(sum(alpha) == k)

    return Jet(derivative, at.dim)


# --- traces -------------------------------------------------------------------------------------------------------------


@_boundary_check("interface", 1e-13, "relative difference between traces of a batch and of its functions alone")
def traces_keep_batches_and_precision(operator: BoundaryOperator, at: Location) -> float:
    """Jets of shape (n,), (B, n), (B1, B2, n) and (0, n) give float64 traces of that shape, each function as if alone."""
    jets, errors = _functions(at), []
    alone = torch.stack([_traces(operator, u, at) for u in jets], dim=1)
    for batch in ((2,), (1, 2), (0,)):

        def stacked(alpha: MultiIndex, batch: tuple[int, ...] = batch) -> Tensor:
            return torch.stack([u.d(alpha) for u in jets])[: math.prod(batch)].reshape(*batch, len(at.x))

        found = _traces(operator, Jet(stacked, at.dim), at)
        require(found.dtype == torch.float64, f"traces are {found.dtype}, float64 is needed")
        errors.append(relative(found, alone[:, : math.prod(batch)].reshape(found.shape)))
    return max(errors)


@_boundary_check("structure", 1e-12, "relative difference between B(αu + βv) and αBu + βBv")
def traces_are_linear(operator: BoundaryOperator, at: Location) -> float:
    """B(αu + βv) = αBu + βBv: data belong into data(), not into the traces."""
    u, v = _functions(at)
    mixed = Jet(lambda alpha: 1.7 * u.d(alpha) - 2.4 * v.d(alpha), at.dim)
    Bu, Bv, found = (_traces(operator, jet, at) for jet in (u, v, mixed))
    return relative(found, 1.7 * Bu - 2.4 * Bv)


@_boundary_check("structure", 1e-13, "relative difference between traces at all points and at some of them")
def traces_are_local(operator: BoundaryOperator, at: Location) -> float:
    """The trace at a point is the same whichever other points are asked for."""
    assert at.normal is not None and at.weights is not None
    some = torch.arange(0, len(at.x), 3)
    fewer = Location(at.x[some], at.t, at.normal[some], at.weights[some])
    every, few = (_traces(operator, _functions(place)[0], place) for place in (at, fewer))
    return relative(few, every[:, some])


@_boundary_check("structure", 0.0, "relative difference between traces at t = 0 and at t = 1.7")
def traces_do_not_depend_on_time(operator: BoundaryOperator, at: Location) -> float:
    """The rows of the boundary system are built once: only the data may change with time."""
    u = _functions(at)[0]
    now, later = (_traces(operator, u, at.moment(t)) for t in (0.0, 1.7))
    return relative(later, now)


@check("boundary", group="interface")
def traces_leave_no_trace(subject: Subject) -> None:
    """Traces repeat bit by bit, modify neither jet nor location, and remember no earlier set of points."""
    for (operator, at), (fresh, _) in zip(_operators(subject), _operators(subject), strict=True):
        other = _rim(at.dim, phase=0.1)
        u, elsewhere = _functions(at)[0], _functions(other)[0]
        assert at.normal is not None
        given = [*(u.d(alpha) for alpha in multi_indices(at.dim, 2)), at.x, at.normal]
        before = [value.clone() for value in given]
        first = _traces(operator, u, at)
        require(all(map(torch.equal, given, before)), "traces modify the jet or the location they are given")
        found = _traces(operator, elsewhere, other)
        require(torch.equal(_traces(operator, u, at), first), "the same traces asked for again differ")
        same = torch.equal(found, _traces(fresh, elsewhere, other))
        require(same, "traces at new points depend on the points asked for before")


@_boundary_check("gradients", 1e-12, "relative difference between the gradient and the rows")
def traces_are_differentiable(operator: BoundaryOperator, at: Location) -> float:
    """Gradients of traces with respect to the coefficients of a function are the traces of the basis functions."""
    basis = _monomials(at, 3)
    rows = _traces(operator, basis, at)
    a = torch.randn(rows.shape[1], dtype=torch.float64, requires_grad=True)
    traces = _traces(operator, Jet(lambda alpha: a @ basis.d(alpha), at.dim), at)
    require(traces.requires_grad, "no gradient flows through the traces")
    weights = torch.randn(traces.shape, dtype=torch.float64)
    (gradient,) = torch.autograd.grad((weights * traces).sum(), a)
    return relative(gradient, torch.einsum("cjn,cn->j", rows, weights))


# --- data ---------------------------------------------------------------------------------------------------------------


@check("boundary", group="interface")
def data_are_formulas(subject: Subject) -> None:
    """Data are numbers, or formulas or tables (Datum) of the coordinates and t, finite on the boundary, the same whenever asked for."""
    for operator, at in _operators(subject):
        known = {*COORDINATES[: at.dim], "t"}
        for i, g in enumerate(operator.data()):
            good = isinstance(g, (Expression, Datum, int, float))
            require(good, f"datum {i} is {type(g).__name__}; a formula (gleg_core.expressions) or a number is needed")
            unknown = g.free - known if isinstance(g, Expression | Datum) else set()
            require(
                not unknown, f"datum {i} depends on {', '.join(sorted(unknown))}, which has no value on the boundary"
            )
            for t in (0.0, 0.7, torch.tensor([[0.0], [0.5]], dtype=torch.float64)):
                value = spread(at.moment(t)(g), at.moment(t))
                require(torch.isfinite(value).all(), f"datum {i} is not finite on the boundary at t = {t}")
        first, again = ([g.key if isinstance(g, Datum) else str(g) for g in operator.data()] for _ in range(2))
        require(first == again, f"data asked for again differ: {first} and {again}")


@_boundary_check("accuracy", 1e-6, "relative difference between ∂g/∂t and differences in time")
def data_rates_match_differences(operator: BoundaryOperator, at: Location) -> float:
    """∂g/∂t as the solver uses it agrees with finite differences of g in time."""
    errors, h = [0.0], 1e-3
    for g in operator.data():
        if isinstance(g, Expression | Datum):
            values = [spread(at.moment(0.6 + j * h)(g), at) for j in (-2, -1, 1, 2)]
            rate = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * h)
            scale = float(rate.abs().max() + values[0].abs().max())
            errors.append(relative(spread(at.moment(0.6)(g.d("t")), at), rate, scale))
    return max(errors)


# --- what the condition says about normal derivatives ---------------------------------------------------------------------


@_boundary_check(
    "structure",
    1e-8,
    "relative difference between the flux stated and ∂_n u by differences",
    needs="flux",
    otherwise="the condition states no flux",
)
def flux_tells_the_normal_derivative(operator: BoundaryOperator, at: Location) -> float:
    """∂_n u = factor·(B_trace u) − kappa·u, with ∂_n u by finite differences along the outward normal."""
    flux, normal = operator.flux, at.normal
    assert normal is not None
    if flux is None:
        raise Violation("flux is stated in some dimensions only")
    require(0 <= flux.trace < operator.conditions, f"flux names trace {flux.trace}; there are {operator.conditions}")
    free = flux.kappa.free if isinstance(flux.kappa, Expression | Datum) else frozenset[str]()
    require("t" not in free, "kappa of the flux depends on time: it enters the operator, which is built once")
    u = Jet(lambda alpha: torch.stack([f.d(alpha) for f in _functions(at)]), at.dim)
    stated = flux.factor * _traces(operator, u, at)[flux.trace] - at(flux.kappa) * u.value
    slopes = slope(lambda x: torch.stack([f.value for f in _functions(Location(x))]), at.x, normal, 1e-2)
    return max(map(relative, stated, slopes))


@_boundary_check(
    "structure",
    1e-6,
    "largest declared normal derivative of homogeneous admissible functions, relative",
    needs="vanishing",
    otherwise="the condition declares no vanishing normal derivative",
)
def declared_vanishing_derivatives_vanish(operator: BoundaryOperator, at: Location) -> float:
    """Functions whose traces are zero on the whole boundary have zero normal derivatives of the orders in vanishing."""
    sizes = _admissible_sizes(operator, at.dim)
    return max((sizes[k] for k in operator.vanishing), default=0.0)


@check("boundary", group="structure")
def all_vanishing_derivatives_are_declared(subject: Subject) -> None:
    """No normal derivative up to the order of the condition vanishes for admissible functions without being declared."""
    for operator, at in _operators(subject):
        for k, size in enumerate(_admissible_sizes(operator, at.dim)):
            require(
                k in operator.vanishing or size > 1e-6,
                f"normal derivatives of order {k} vanish for every homogeneous admissible function ({at.dim}-D, {size:.1e}), but "
                f"vanishing = {operator.vanishing} does not say so: weak forms would be refused or keep terms that are zero",
            )


def _admissible_sizes(operator: BoundaryOperator, dim: int) -> list[float]:
    """Largest |∂_n^k u| on the boundary, k = 0, 1, …, over polynomials u whose traces vanish, relative to that of the monomials."""
    degree, n = {1: (6, 2), 2: (14, 160), 3: (8, 500)}[dim]
    at, between = _rim(dim, n, 0.5), _rim(dim, n, 0.17)
    null = torch.eye(len(_monomials(at, degree).value), dtype=torch.float64)
    traces = _traces(operator, _monomials(at, degree), at)
    if len(traces):
        rows = torch.cat([(trace / trace.norm(dim=0).max().clamp(min=1e-300)).T for trace in traces])
        _, values, vectors = torch.linalg.svd(rows)
        rank = int((values > 1e-10 * values[0]).sum())
        applies_if(rank < len(null), f"no polynomial of degree {degree} satisfies the homogeneous condition")
        null = vectors[rank:]
    orders = range(max([operator.order, *operator.vanishing]) + 1)
    normal_derivatives = [_normal_derivative(_monomials(between, degree), between, k) for k in orders]
    return [float((null @ d).abs().max() / d.abs().max()) for d in normal_derivatives]


def _normal_derivative(u: Jet, at: Location, k: int) -> Tensor:
    """(n·∇)^k u with n fixed at each point."""
    normal = at.normal
    assert normal is not None
    total = torch.zeros(())
    for axes in product(range(at.dim), repeat=k):
        alpha = tuple(axes.count(i) for i in range(at.dim))
        total = total + torch.prod(normal ** normal.new_tensor(alpha), dim=1) * u.d(alpha)
    return total
