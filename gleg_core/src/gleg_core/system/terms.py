"""Terms of an equation and their realisation on Ω."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gleg_core.algebra.sparse import SparseMatrix
from gleg_core.contracts.block import Block, Fields, Mode
from gleg_core.contracts.jet import Jet, MultiIndex
from gleg_core.contracts.local_basis import LocalBasis
from gleg_core.contracts.location import Location
from gleg_core.errors import GlegError, NumericsError, PackError, SpecError
from gleg_core.expressions import Expression, formula
from gleg_core.matmul import matmul
from gleg_core.system import local_form
from gleg_core.system.discrete_field import DiscreteField, DiscreteFields, FluxJet

_TRACES = {0: "value", 1: "normal derivative"}
_AUTHOR = "Report it to the pack's author, or use another mechanism or another version of the pack"


@dataclass(frozen=True)
class Term:
    """c(x, t) L(u) in the equation of ``field``. ``where`` is its place in the problem file, for messages."""

    field: str
    block: Block
    coefficient: Expression
    mode: Mode | None = None
    where: str = ""
    origin: str = ""
    """The pack its block comes from, for messages."""
    identity: str = ""
    """Says all that its block depends on; empty if unknown, then its matrices are not kept."""
    scale: Tensor | None = None
    """A further factor (..., 1), one for each member of a batch, and differentiable."""

    @property
    def varies_in_space(self) -> bool:
        return bool(self.coefficient.free - {"t"})

    @property
    def varies_in_time(self) -> bool:
        return "t" in self.coefficient.free or self.block.traits.time_dependent

    @property
    def linear(self) -> bool:
        return self.block.traits.degree == 1 and self.block.acts_on is not None

    def scaled_by(self, number: float) -> "Term":
        """The same term with a constant coefficient, the same for all members of a batch."""
        return replace(self, coefficient=formula(number), scale=None)

    @property
    def unit(self) -> "Term":
        """The same term with coefficient one, unless it varies in space."""
        return self if self.varies_in_space else self.scaled_by(1.0)

    def factor(self, at: Location) -> Tensor | float:
        """c(x, t), times the scale."""
        number = self.coefficient.number
        c = at(self.coefficient) if number is None else number
        return c if self.scale is None else c * self.scale

    def reference(self, fields: Fields, at: Location) -> Tensor:
        """c L(u) exactly."""
        return at(self.coefficient) * self.block.reference(fields, at)


Realised = Sequence[tuple[Term, Mode]]
"""Terms, and how each is realised."""


def choose_mode(term: Term, target: DiscreteField) -> Mode:
    """The realisation of a term: the one asked for if it is admissible, else the block's first admissible one."""
    traits = term.block.traits
    refusals: dict[str, str] = {}
    traces = [set(c.operator.vanishing) for c in target.space.boundary.conditions]
    if missing := [_TRACES.get(k, f"derivative {k}") for k in traits.weak_traces if not all(k in s for s in traces)]:
        refusals["weak"] = (
            f"its weak form needs conditions of '{target.name}' that prescribe the {' and the '.join(missing)} on the whole "
            "boundary"
        )
    if term.varies_in_space:
        reason = "a coefficient that varies in space multiplies the mechanism pointwise"
        refusals |= dict.fromkeys(("weak", "ambient"), reason)
    if isinstance(target.space.basis, LocalBasis):
        reason = "functions on cells have no derivatives of order two"
        if traits.order >= 2:
            refusals.setdefault("pointwise", f"{reason}, and the mechanism is evaluated with them")
        if traits.order > 2:
            refusals.setdefault("weak", f"{reason}, and its weak form has them: name a basis of global functions")
    if target.space.basis.wavevectors is None:
        refusals.setdefault("ambient", "the basis has no ambient coefficients for it")
    admissible = [m for m in traits.modes if m not in refusals]
    if term.mode is not None:
        if term.mode in admissible:
            return term.mode
        reason = refusals.get(term.mode, "the block does not offer it")
        raise SpecError(f"{term.where}: realisation '{term.mode}' is not possible: {reason}. Possible: {admissible}")
    if not admissible:
        raise SpecError(f"{term.where}: no realisation is possible: {'; '.join(dict.fromkeys(refusals.values()))}")
    return admissible[0]


def checked(values: Tensor, term: Term, points: Tensor, most: int = 99) -> Tensor:
    """A block's output at the ``points`` (n, dim), refused if it cannot be what the contract says."""
    if not isinstance(values, Tensor):
        raise _refused(term, f"{type(values).__name__} instead of a tensor")
    if values.ndim and values.shape[-1] not in (len(points), 1):
        raise _refused(term, f"shape {tuple(values.shape)}; its last dimension must be the {len(points)} points")
    if values.ndim > most:
        raise _refused(term, f"shape {tuple(values.shape)}, more dimensions than the state it was given")
    if values.dtype != points.dtype:
        raise _refused(term, f"{values.dtype} instead of {points.dtype}")
    return values


def _refused(term: Term, returned: str) -> PackError:
    block = f"{term.origin}: block {type(term.block).__name__}" if term.origin else f"block {type(term.block).__name__}"
    return PackError(f"{term.where}: {block} returned {returned}. {_AUTHOR}")


def check_finite(term: Term, values: Tensor, at: Location) -> None:
    """Refuse a response that is not finite for finite functions: the coefficient's fault, or the block's."""
    if bool(torch.isfinite(values).all()):
        return
    c = term.coefficient
    if not bool(torch.isfinite(at(c)).all()):
        raise NumericsError(f"{term.where}: its coefficient '{c}' is not finite everywhere in the domain")
    raise _refused(term, "values that are not finite for a finite state")


class Integrals:
    """Collects integrands tested with the functions of one field and projects them together.

    q_i = Σ_α ∫_Ω ∂^αφ_i F_α + ∮_∂Ω φ_i B, one matrix product per test derivative α however many terms there are.
    """

    def __init__(self, target: DiscreteField, by_tables: bool = False):
        """``by_tables``: as exactly as can be, for matrices; see :meth:`gleg_core.algebra.tables.Tables.moments`."""
        self._target, self._by_tables = target, by_tables
        self.interior: dict[MultiIndex, Tensor] = {}
        self._own: dict[MultiIndex, bool] = {}
        self.boundary: Tensor | None = None
        self._response: Tensor | None = None

    @property
    def edge_counts(self) -> bool:
        """False if every test function vanishes on the whole boundary: integrals over it are zero whatever the integrand."""
        return not self._target.space.boundary.tests_vanish

    def add(self, alpha: MultiIndex, values: Tensor, c: Tensor | float = 1.0) -> None:
        """c F_α, in one pass over memory if c is a number, and in the place of a sum that is nobody else's."""
        known = self.interior.get(alpha)
        if known is None:
            shared = isinstance(c, float) and c == 1.0
            self.interior[alpha] = values if shared else c * values
            self._own[alpha] = not shared
        elif isinstance(c, Tensor):
            self.interior[alpha], self._own[alpha] = known + c * values, True
        elif self._own[alpha] and known.shape == values.shape:
            known.add_(values, alpha=c)
        else:
            self.interior[alpha], self._own[alpha] = torch.add(known, values, alpha=c), True

    def add_boundary(self, values: Tensor) -> None:
        self.boundary = values if self.boundary is None else self.boundary + values

    def add_response(self, q: Tensor) -> None:
        """A response that is in reduced coordinates already."""
        self._response = q if self._response is None else self._response + q

    def project(self) -> Tensor:
        """q, shape (..., r)."""
        field = self._target
        weights = field.space.weights
        q = self._response
        if self.interior:
            densities = {alpha: f * weights for alpha, f in self.interior.items()}
            part = field.interior.functions.moments(densities, self._by_tables)
            q = part if q is None else q + part
        if self.boundary is not None:
            zero = (0,) * field.space.basis.dim
            part = field.boundary.functions.moments({zero: self.boundary * boundary_weights(field)}, by_tables=True)
            q = part if q is None else q + part
        assert q is not None
        return q


def boundary_weights(field: DiscreteField) -> Tensor:
    """Arclength weights, zero where every test function vanishes."""
    return field.space.boundary.points.weights * (~field.space.boundary.test_vanishes)


@contextmanager
def blamed_on(term: Term) -> Iterator[None]:
    """Whatever goes wrong inside a block names the term and the block."""
    try:
        yield
    except (GlegError, KeyboardInterrupt):
        raise
    except Exception as error:
        block = type(term.block)
        raise PackError(
            f"{term.where}: {term.origin + ': ' if term.origin else ''}block {block.__module__}.{block.__name__} failed while "
            f"it was evaluated: {type(error).__name__}: {error}. {_AUTHOR}"
        ) from error


def integrands(term: Term, mode: Mode, interior: Fields, at: Location) -> dict[MultiIndex, Tensor]:
    """{α: F_α} of one term, without its coefficient, for the given jets (a state, or a batch of basis functions), each (..., n)."""
    with blamed_on(term):
        if mode == "pointwise":
            inside: Mapping[MultiIndex, Tensor] = {(0,) * at.dim: term.block.pointwise(interior, at)}
        else:
            inside = term.block.weak(interior, at)
    batch = max((jet.dims for jet in interior.values()), default=1)
    return {alpha: checked(values, term, at.x, batch) for alpha, values in inside.items()}


def edge_integrand(term: Term, mode: Mode, boundary: Fields, at: Location, edge: Location) -> Tensor | None:
    """c B on the boundary points ``edge``, (..., n_b), or None; the coefficient is that of the interior, constant in space."""
    if mode == "pointwise":
        return None
    with blamed_on(term):
        values = term.block.weak_boundary(boundary, edge)
    return None if values is None else term.factor(at) * checked(values, term, edge.x)


def integrate(
    into: Integrals, term: Term, mode: Mode, interior: Fields, boundary: Fields, at: Location, at_boundary: Location
) -> None:
    """Add the integrands of one term for the given jets."""
    c = term.factor(at)
    for alpha, values in integrands(term, mode, interior, at).items():
        into.add(alpha, values, c)
    edge = edge_integrand(term, mode, boundary, at, at_boundary) if into.edge_counts else None
    if edge is not None:
        into.add_boundary(edge)


def _mechanism(term: Term, mode: Mode, target: DiscreteField, fields: DiscreteFields) -> local_form.Mechanism:
    """The integrands of a linear term for a jet of the field that its block reads."""
    at, name = target.interior.at, str(term.block.acts_on)
    nothing = {n: f.interior.zero() for n, f in fields.items()}

    def mechanism(jet: Jet) -> dict[MultiIndex, Tensor]:
        inside = integrands(term, mode, {**nothing, name: jet}, at)
        return {alpha: term.factor(at) * values for alpha, values in inside.items()}

    return mechanism


def sparse_state_matrix(term: Term, mode: Mode, target: DiscreteField, fields: DiscreteFields) -> SparseMatrix | None:
    """The same A on local spaces, None for a mechanism that does not act locally: its matrix is dense, and nobody forms it."""
    source, edge = fields[str(term.block.acts_on)], target.boundary.at
    space = target.local
    form = local_form.local_form(_mechanism(term, mode, target, fields), source.interior)
    if form is None:
        return None
    edges = None
    if not space.boundary.tests_vanish:
        stated, kappa, _ = source.flux
        nothing = {n: f.boundary.zero() for n, f in fields.items()}

        def on_edges(jet: Jet) -> dict[MultiIndex, Tensor]:
            boundary = {**nothing, source.name: FluxJet(jet, stated, kappa, 0.0)}
            values = edge_integrand(term, mode, boundary, target.interior.at, edge)
            return {} if values is None else {(0,) * edge.dim: values * ~space.boundary.test_vanishes}

        rim = local_form.local_form(on_edges, source.boundary)
        if rim is None:
            return None
        rim = local_form.without_rounding(rim, form)
        if any(sum(beta) for _, beta in rim):
            return None
        if rim:
            edges = space.rules.edges.matrix({pair: W * boundary_weights(target) for pair, W in rim.items()})
    A = space.matrix(source.local, {pair: W * space.weights for pair, W in form.items()}, edges)
    for part in A.parts:
        check_finite(term, torch.from_numpy(part), target.interior.at)
    return A


def state_matrix(term: Term, mode: Mode, target: DiscreteField, fields: DiscreteFields) -> Tensor:
    """A (r_source, r_target) of q = z @ A + θ @ B, for a linear term with a coefficient constant in time."""
    source = fields[str(term.block.acts_on)]
    if mode == "ambient":
        return _ambient_matrix(term, target, source, source.dense.N)
    at = target.interior.at
    form = local_form.local_form(_mechanism(term, mode, target, fields), source.interior)
    A = None if form is None else local_form.matrix(form, source, target)
    functions = source.boundary_jets()[0]
    if A is None:
        return _assembled(term, mode, target, fields, source.interior.of_functions(), functions)
    boundary = {**{n: f.boundary.zero() for n, f in fields.items()}, source.name: functions}
    edges = Integrals(target)
    edge = edge_integrand(term, mode, boundary, at, target.boundary.at) if edges.edge_counts else None
    if edge is not None:
        edges.add_boundary(edge)
        A = A + edges.project()
    check_finite(term, A, at)
    return A


def data_matrix(term: Term, mode: Mode, target: DiscreteField, fields: DiscreteFields) -> Tensor | None:
    """B (k, r_target) of q = z @ A + θ @ B, None if the source field has no lift."""
    source = fields[str(term.block.acts_on)]
    if source.lift is None:
        return None
    if mode == "ambient":
        return _ambient_matrix(term, target, source, source.lift.columns)
    lifted = source.boundary_jets()[1]
    assert lifted is not None
    return _assembled(term, mode, target, fields, source.interior.of_lift(), lifted)


def _ambient_matrix(term: Term, target: DiscreteField, source: DiscreteField, columns: Tensor) -> Tensor:
    """NᵀM_Ω F applied to functions of the source field, given by their columns (M, k)."""
    c = term.coefficient.number
    assert c is not None  # choose_mode admits only constant coefficients
    with blamed_on(term):
        F = term.block.ambient(source.space.basis, source.name)
        matrix = matmul(c * F(columns.T.contiguous()), target.ambient_projection)
    check_finite(term, matrix, target.interior.at)
    return matrix


def _assembled(
    term: Term, mode: Mode, target: DiscreteField, fields: DiscreteFields, inside: Jet, on_boundary: Jet
) -> Tensor:
    """Response to a batch of functions of the one field the block reads, all other fields zero."""
    name = str(term.block.acts_on)
    interior = {**{n: f.interior.zero() for n, f in fields.items()}, name: inside}
    boundary = {**{n: f.boundary.zero() for n, f in fields.items()}, name: on_boundary}
    integrals = Integrals(target, by_tables=True)
    integrate(integrals, term, mode, interior, boundary, target.interior.at, target.boundary.at)
    response = integrals.project()
    check_finite(term, response, target.interior.at)
    return response
