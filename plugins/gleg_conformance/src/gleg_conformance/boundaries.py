"""Checks of the contract BoundaryOperator, on the rim of an ellipsoid (two points in one dimension) with jets of known functions."""

import math
from collections.abc import Callable, Sequence
from functools import cache
from itertools import product

import numpy as np
import torch
from torch import Tensor

from gleg_conformance.basis_settings import relative, slope
from gleg_conformance.kit import Finding, Subject, check, not_applicable, require
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


def _functions(dim: int) -> tuple[Expression, Expression]:
    first, second = (formula(text, COORDINATES[:dim]) for text in _TEXTS[dim])
    return first, second


def _mixed(weights: Sequence[float], jets: Sequence[Jet]) -> Jet:
    """Σ w_i u_i as a jet."""

    def derivative(alpha: MultiIndex) -> Tensor:
        return torch.stack([w * jet.d(alpha) for w, jet in zip(weights, jets, strict=True)]).sum(0)

    return Jet(derivative, jets[0].dim)


def _stacked(jets: Sequence[Jet], batch: tuple[int, ...]) -> Jet:
    """The first functions of a list as one jet of this batch shape."""

    def derivative(alpha: MultiIndex) -> Tensor:
        return torch.stack([jet.d(alpha) for jet in jets])[: math.prod(batch)].reshape(*batch, jets[0].value.shape[-1])

    return Jet(derivative, jets[0].dim)


def _monomials(at: Location, degree: int) -> Jet:
    """All products of powers of the coordinates up to a total degree, as a batch of M functions."""
    powers = [m for m in product(range(degree + 1), repeat=at.dim) if sum(m) <= degree]

    def derivative(alpha: MultiIndex) -> Tensor:
        rows = []
        for m in powers:
            factor = math.prod(math.perm(k, a) for k, a in zip(m, alpha, strict=True))  # 0 where a > k
            rest = at.x.new_tensor([max(k - a, 0) for k, a in zip(m, alpha, strict=True)])
            rows.append(factor * torch.prod(at.x**rest, dim=1))
        return torch.stack(rows)

    return Jet(derivative, at.dim)


def _operator(subject: Subject, dim: int) -> BoundaryOperator:
    operator: BoundaryOperator = subject.make(dim=dim)
    if operator.partner is not None:
        not_applicable("a condition that joins two segments is not examined: there is only one here")
    return operator


def _traces(operator: BoundaryOperator, u: Jet, at: Location) -> list[Tensor]:
    """The traces with shapes as promised: constants and missing batch axes are not accepted silently."""
    shape = u.value.shape
    traces = list(operator.traces(u, at))
    for i, trace in enumerate(traces):
        require(isinstance(trace, Tensor), f"trace {i} is {type(trace).__name__}, a tensor is needed")
        require(trace.shape == shape, f"trace {i} of values {tuple(shape)} has shape {tuple(trace.shape)}")
    return traces


def _together(traces: Sequence[Tensor], like: Tensor) -> Tensor:
    """All traces along one new first axis; of size 0 if there is no condition."""
    return torch.stack(list(traces)) if traces else like.new_zeros(0, *like.shape)


def _worst(subject: Subject, measure: Callable[[BoundaryOperator, int], float], limit: float, what: str) -> Finding:
    """The largest measured value over the declared dimensions, of an operator that has traces."""
    operators = {dim: _operator(subject, dim) for dim in subject.dims}
    if not any(operator.conditions for operator in operators.values()):
        not_applicable("the condition has no traces")
    value, dim = max((measure(operator, dim), dim) for dim, operator in operators.items())
    return Finding(value, limit, f"{what} ({dim}-D)")


# --- declaration --------------------------------------------------------------------------------------------------------


@check("boundary", group="declaration")
def conditions_are_counted_right(subject: Subject) -> None:
    """conditions is the number of traces and of data, and what the entry states."""
    for dim in subject.dims:
        operator, at = _operator(subject, dim), _rim(dim)
        found = {
            "conditions": operator.conditions,
            "traces": len(operator.traces(expression_jet(_functions(dim)[0], at), at)),
            "data": len(operator.data()),
            "the entry's capabilities": operator.conditions
            if subject.capabilities.conditions is None
            else subject.capabilities.conditions,
        }
        told = ", ".join(f"{name}: {count}" for name, count in found.items())
        require(len(set(found.values())) == 1, f"numbers of conditions differ: {told}")


@check("boundary", group="declaration")
def normal_order_is_true(subject: Subject) -> None:
    """order is the highest normal derivative that the traces respond to, no more and no less."""
    for dim in subject.dims:
        operator, at = _operator(subject, dim), _rim(dim)
        if not operator.conditions:
            not_applicable("the condition has no traces")
        require(
            isinstance(operator.order, int) and operator.order >= 0, f"order is {operator.order!r}, not a whole number"
        )
        seen = [
            k for k in range(operator.order + 4) if any(bool(t.any()) for t in _traces(operator, _along(at, k), at))
        ]
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


@check("boundary", group="interface")
def traces_keep_batches_and_precision(subject: Subject) -> Finding:
    """Jets of shape (n,), (B, n), (B1, B2, n) and (0, n) give float64 traces of that shape, each function as if alone."""

    def difference(operator: BoundaryOperator, dim: int) -> float:
        at, worst = _rim(dim), 0.0
        jets = [expression_jet(f, at) for f in _functions(dim)]
        alone = torch.stack([_together(_traces(operator, u, at), u.value) for u in jets], dim=1)
        for batch in ((2,), (1, 2), (0,)):
            found = _together(_traces(operator, _stacked(jets, batch), at), jets[0].value.expand(*batch, -1))
            require(found.dtype == torch.float64, f"traces are {found.dtype}, float64 is needed")
            worst = max(worst, relative(found, alone[:, : math.prod(batch)].reshape(found.shape)))
        return worst

    return _worst(
        subject, difference, 1e-13, "relative difference between traces of a batch and of its functions alone"
    )


@check("boundary", group="structure")
def traces_are_linear(subject: Subject) -> Finding:
    """B(αu + βv) = αBu + βBv: data belong into data(), not into the traces."""

    def difference(operator: BoundaryOperator, dim: int) -> float:
        at = _rim(dim)
        u, v = (expression_jet(f, at) for f in _functions(dim))
        weights = (1.7, -2.4)
        parts = [_together(_traces(operator, jet, at), u.value) for jet in (u, v)]
        found = _together(_traces(operator, _mixed(weights, (u, v)), at), u.value)
        return relative(found, weights[0] * parts[0] + weights[1] * parts[1])

    return _worst(subject, difference, 1e-12, "relative difference between B(αu + βv) and αBu + βBv")


@check("boundary", group="structure")
def traces_are_local(subject: Subject) -> Finding:
    """The trace at a point is the same whichever other points are asked for."""

    def difference(operator: BoundaryOperator, dim: int) -> float:
        at, function = _rim(dim), _functions(dim)[0]
        assert at.normal is not None and at.weights is not None
        some = torch.arange(0, len(at.x), 3)
        fewer = Location(at.x[some], at.t, at.normal[some], at.weights[some])
        every, few = (_together(_traces(operator, u, p), u.value)
                      for u, p in ((expression_jet(function, p), p) for p in (at, fewer)))  # fmt: skip
        return relative(few, every[:, some])

    return _worst(subject, difference, 1e-13, "relative difference between traces at all points and at some of them")


@check("boundary", group="structure")
def traces_do_not_depend_on_time(subject: Subject) -> Finding:
    """The rows of the boundary system are built once: only the data may change with time."""

    def difference(operator: BoundaryOperator, dim: int) -> float:
        now = _rim(dim, t=0.0)
        u = expression_jet(_functions(dim)[0], now)
        traces = [_together(_traces(operator, u, now.moment(t)), u.value) for t in (0.0, 1.7)]
        return relative(traces[1], traces[0])

    return _worst(subject, difference, 0.0, "relative difference between traces at t = 0 and at t = 1.7")


@check("boundary", group="interface")
def traces_leave_no_trace(subject: Subject) -> None:
    """Traces repeat bit by bit, modify neither jet nor location, and remember no earlier set of points."""
    for dim in subject.dims:
        operator, at, other = _operator(subject, dim), _rim(dim), _rim(dim, phase=0.1)
        u = expression_jet(_functions(dim)[0], at)
        wanted = [alpha for alpha in product(range(3), repeat=dim) if sum(alpha) <= 2]
        given = [*(u.d(alpha) for alpha in wanted), at.x, at.normal]
        before = [value.clone() for value in given if value is not None]
        first = [trace.clone() for trace in _traces(operator, u, at)]
        same = all(torch.equal(value, old) for value, old in zip(given, before, strict=True) if value is not None)
        require(same, "traces modify the jet or the location they are given")
        elsewhere = expression_jet(_functions(dim)[0], other)
        found = [trace.clone() for trace in _traces(operator, elsewhere, other)]
        again = _traces(operator, u, at)
        require(all(map(torch.equal, again, first)), "the same traces asked for again differ")
        fresh = _traces(_operator(subject, dim), elsewhere, other)
        require(all(map(torch.equal, found, fresh)), "traces at new points depend on the points asked for before")


@check("boundary", group="gradients")
def traces_are_differentiable(subject: Subject) -> Finding:
    """Gradients of traces with respect to the coefficients of a function are the traces of the basis functions."""

    def difference(operator: BoundaryOperator, dim: int) -> float:
        at = _rim(dim)
        basis = _monomials(at, 3)
        rows = _together(_traces(operator, basis, at), basis.value)
        a = torch.randn(rows.shape[1], dtype=torch.float64, requires_grad=True)
        u = Jet(lambda alpha: a @ basis.d(alpha), dim)
        traces = _together(_traces(operator, u, at), u.value)
        require(traces.requires_grad, "no gradient flows through the traces")
        weights = torch.randn(traces.shape, dtype=torch.float64)
        (gradient,) = torch.autograd.grad((weights * traces).sum(), a)
        return relative(gradient, torch.einsum("cjn,cn->j", rows, weights))

    return _worst(subject, difference, 1e-12, "relative difference between the gradient and the rows")


# --- data ---------------------------------------------------------------------------------------------------------------


@check("boundary", group="interface")
def data_are_formulas(subject: Subject) -> None:
    """Data are numbers, or formulas or tables (Datum) of the coordinates and t, finite on the boundary, the same whenever asked for."""
    for dim in subject.dims:
        operator, at = _operator(subject, dim), _rim(dim)
        known = {*COORDINATES[:dim], "t"}
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


@check("boundary", group="accuracy")
def data_rates_match_differences(subject: Subject) -> Finding:
    """∂g/∂t as the solver uses it agrees with finite differences of g in time."""

    def difference(operator: BoundaryOperator, dim: int) -> float:
        at, worst, h = _rim(dim), 0.0, 1e-3
        for g in operator.data():
            if isinstance(g, Expression | Datum):
                values = [spread(at.moment(0.6 + j * h)(g), at) for j in (-2, -1, 1, 2)]
                rate = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * h)
                error = (spread(at.moment(0.6)(g.d("t")), at) - rate).abs().max()
                worst = max(worst, float(error) / (float(rate.abs().max()) + float(values[0].abs().max()) or 1.0))
        return worst

    return _worst(subject, difference, 1e-6, "relative difference between ∂g/∂t and differences in time")


# --- what the condition says about normal derivatives ---------------------------------------------------------------------


@check("boundary", group="structure")
def flux_tells_the_normal_derivative(subject: Subject) -> Finding:
    """∂_n u = factor·(B_trace u) − kappa·u, with ∂_n u by finite differences along the outward normal."""
    if _operator(subject, subject.dims[0]).flux is None:
        not_applicable("the condition states no flux")

    def difference(operator: BoundaryOperator, dim: int) -> float:
        flux, at, worst = operator.flux, _rim(dim), 0.0
        assert at.normal is not None
        require(flux is not None, "flux is stated in some dimensions only")
        assert flux is not None
        require(
            0 <= flux.trace < operator.conditions, f"flux names trace {flux.trace}; there are {operator.conditions}"
        )
        free = flux.kappa.free if isinstance(flux.kappa, Expression | Datum) else frozenset[str]()
        require("t" not in free, "kappa of the flux depends on time: it enters the operator, which is built once")
        for function in _functions(dim):
            u = expression_jet(function, at)
            stated = flux.factor * _traces(operator, u, at)[flux.trace] - at(flux.kappa) * u.value
            right = slope(lambda x, f=function: Location(x)(f), at.x, at.normal, 1e-2)  # type: ignore[misc]
            worst = max(worst, relative(stated, right))
        return worst

    return _worst(subject, difference, 1e-8, "relative difference between the flux stated and ∂_n u by differences")


@check("boundary", group="structure")
def declared_vanishing_derivatives_vanish(subject: Subject) -> Finding:
    """Functions whose traces are zero on the whole boundary have zero normal derivatives of the orders in vanishing."""
    if not any(_operator(subject, dim).vanishing for dim in subject.dims):
        not_applicable("the condition declares no vanishing normal derivative")

    def size(operator: BoundaryOperator, dim: int) -> float:
        return max(_admissible_sizes(operator, dim)[k] for k in operator.vanishing)

    return _worst(
        subject, size, 1e-6, "largest declared normal derivative of homogeneous admissible functions, relative"
    )


@check("boundary", group="structure")
def all_vanishing_derivatives_are_declared(subject: Subject) -> None:
    """No normal derivative up to the order of the condition vanishes for admissible functions without being declared."""
    for dim in subject.dims:
        operator = _operator(subject, dim)
        for k, size in enumerate(_admissible_sizes(operator, dim)):
            require(
                k in operator.vanishing or size > 1e-6,
                f"normal derivatives of order {k} vanish for every homogeneous admissible function ({dim}-D, {size:.1e}), but "
                f"vanishing = {operator.vanishing} does not say so: weak forms would be refused or keep terms that are zero",
            )


def _admissible_sizes(operator: BoundaryOperator, dim: int) -> list[float]:
    """Largest |∂_n^k u| on the boundary, k = 0, 1, …, over polynomials u whose traces vanish, relative to that of the monomials."""
    degree, n = {1: (6, 2), 2: (14, 160), 3: (8, 500)}[dim]
    at, between = _rim(dim, n, 0.5), _rim(dim, n, 0.17)
    null = torch.eye(len(_monomials(at, degree).value), dtype=torch.float64)
    traces = _traces(operator, _monomials(at, degree), at)
    if traces:
        rows = torch.cat([(trace / trace.norm(dim=0).max().clamp(min=1e-300)).T for trace in traces])
        _, values, vectors = torch.linalg.svd(rows)
        rank = int((values > 1e-10 * values[0]).sum())
        if rank == len(null):
            not_applicable(f"no polynomial of degree {degree} satisfies the homogeneous condition")
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
