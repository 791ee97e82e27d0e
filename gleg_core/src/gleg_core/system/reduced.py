"""The reduced system  ż = A z + n(z, t)  of a problem.

    ż = Σ_i c_i q_i(z, t) − NᵀM_Ω ȧ_bc(t)

All symmetric linear responses of a field become one diagonal (its coordinates are rotated to the eigenvectors, which
keeps NᵀM_ΩN = I); other linear responses of low order form one explicit matrix; nonlinear responses share one synthesis
of each field and derivative and one projection per test derivative; what depends on time alone (forcing, moving boundary
data) is evaluated for many times at once. States are rows: z has shape (..., R), matrices multiply from the right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gleg_core.algebra.boundary_system import expression_jet, spread
from gleg_core.algebra.linear import DensePart, DiagonalPart
from gleg_core.contracts.block import Mode
from gleg_core.contracts.integrator import LinearPart
from gleg_core.contracts.jet import Jet
from gleg_core.contracts.location import Location
from gleg_core.expressions import Expression, formula
from gleg_core.system.discrete_field import DiscreteField
from gleg_core.system.terms import Integrals, Term, check_finite, choose_mode, integrate, linear_matrices

_SYMMETRY = 1e-9
"""Relative asymmetry below which a matrix counts as symmetric (weak forms reach 1e-12, pointwise ones about 1e-7)."""
_LARGE = 1e30
"""A state beyond this has blown up: that its powers overflow is nobody's fault."""
_SOURCE_CHUNK = 40_000
"""Points × times evaluated at once: keeps every intermediate of a formula in the processor's cache."""


@dataclass(frozen=True)
class Modulated:
    """c(t) (z_source @ A + θ_source @ B) in the equation of ``target``."""

    coefficient: Expression
    source: str
    target: str
    A: Tensor
    B: Tensor | None


NodalSource = Callable[[Location], Tensor]
"""A function of place and time only: (n,), or (T, n) for a column of times."""


class ReducedSystem:
    """ż = A z + n(z, t) for all fields of a problem, states (..., R) with the fields one after another."""

    def __init__(
        self,
        fields: Sequence[DiscreteField],
        terms: Sequence[Term],
        sources: Mapping[str, Sequence[NodalSource]],
        interval: tuple[float, float],
        steady_lift: bool = True,
    ):
        """``sources``: per field, further functions f(x, t) added to its equation (manufactured forcing). ``interval``: start and
        end of the run. ``steady_lift``: see :meth:`_make_lifts_steady`."""
        self._interval = interval
        self.modes: list[tuple[Term, Mode]] = [(t, choose_mode(t, _named(fields, t.field))) for t in terms]
        self._stage_terms: list[tuple[Term, Mode]] = []
        self._modulated: list[Modulated] = []
        self._nodal: dict[str, list[NodalSource]] = {f.name: list(sources.get(f.name, ())) for f in fields}
        self._lift_matrices: list[tuple[str, str, Tensor]] = []
        self._prepared: dict[int, Tensor] = {}
        self._resolution = 1e-12
        self._assemble(fields)
        if steady_lift:
            self._make_lifts_steady()

    def _assemble(self, fields: Sequence[DiscreteField]) -> None:
        by_name = {f.name: f for f in fields}
        self.slices = _slices(fields)
        self.size = sum(f.r for f in fields)
        symmetric = {f.name: torch.zeros(f.r, f.r, dtype=torch.float64) for f in fields}
        stiff: list[tuple[str, str, Tensor]] = []
        mild: list[tuple[str, str, Tensor]] = []
        for term, mode in self.modes:
            if term.block.traits.degree == 0:
                self._nodal[term.field].append(_source_of(term))
                continue
            if not term.linear or term.block.traits.time_dependent or {"t"} < term.coefficient.free:
                self._stage_terms.append((term, mode))
                continue
            source, target = str(term.block.acts_on), term.field
            if "t" in term.coefficient.free:
                A, B = linear_matrices(term.scaled_by(1.0), mode, by_name[target], by_name)
                middle = self._middle(term.coefficient)
                self._modulated.append(Modulated(_minus(term.coefficient, middle), source, target, A, B))
                A, B = middle * A, None if B is None else middle * B
            else:
                A, B = linear_matrices(term, mode, by_name[target], by_name)
            if B is not None:
                self._lift_matrices.append((source, target, B))
            if source == target and float((A - A.T).abs().max()) <= _SYMMETRY * float(A.abs().max()):
                symmetric[target] += (A + A.T) / 2
            else:
                (stiff if term.block.traits.order >= 2 else mild).append((source, target, A))
        self._diagonalise(fields, symmetric, stiff, mild)

    def _middle(self, coefficient: Expression) -> float:
        """The middle of the range of c(t): c A is split into a constant stiff part and a remainder smaller than it."""
        start, end = self._interval
        values = torch.as_tensor(coefficient(t=torch.linspace(start, end, 257, dtype=torch.float64)))
        return float((values.min() + values.max()) / 2)

    def _diagonalise(
        self,
        fields: Sequence[DiscreteField],
        symmetric: Mapping[str, Tensor],
        stiff: Sequence[tuple[str, str, Tensor]],
        mild: Sequence[tuple[str, str, Tensor]],
    ) -> None:
        eigenvalues, Q = {}, {}
        for f in fields:
            eigenvalues[f.name], Q[f.name] = torch.linalg.eigh(symmetric[f.name])
        self.fields = {f.name: f.rotated(Q[f.name]) for f in fields}

        def rotate(source: str, target: str, A: Tensor) -> Tensor:
            return Q[source].T @ A @ Q[target]

        self._lift_matrices = [(s, t, B @ Q[t]) for s, t, B in self._lift_matrices]
        self._modulated = [
            Modulated(m.coefficient, m.source, m.target, rotate(m.source, m.target, m.A),
                      None if m.B is None else m.B @ Q[m.target]) for m in self._modulated
        ]  # fmt: skip
        self._explicit = self._gather([(s, t, rotate(s, t, A)) for s, t, A in mild]) if mild else None
        diagonal = torch.cat([eigenvalues[f.name] for f in fields])
        self.linear: LinearPart = DiagonalPart(diagonal)
        if stiff:
            dense = self._gather([(s, t, rotate(s, t, A)) for s, t, A in stiff]) + torch.diag(diagonal)
            self.linear = DensePart(dense.T.contiguous())

    def _make_lifts_steady(self) -> None:
        """Move every lift within the affine space so that A acting on it cancels: a_bc + N Yθ with Y A + B = 0.

        The boundary data then enter through −(…)θ̇ alone, which stays bounded as the stiffness grows, instead of B θ, which does not:
        without this, moving data reduce the order of every integrator. Modes too slow to matter (|λ|·duration < 1), among them
        the kernel of a Neumann problem, are left as they are.
        """
        if not isinstance(self.linear, DiagonalPart):
            return
        duration = self._interval[1] - self._interval[0]
        for name, field in self.fields.items():
            own = [B for source, target, B in self._lift_matrices if source == target == name]
            if not own:
                continue
            eigenvalues = self.linear.eigenvalues[self.slices[name]]
            B = torch.stack(own).sum(dim=0)
            Y = torch.where(eigenvalues.abs() * duration > 1.0, -B / eigenvalues, torch.zeros_like(B))
            self.fields[name] = field.with_lift_moved(Y)
            self._lift_matrices.append((name, name, Y * eigenvalues))
            if self._explicit is not None:
                through = Y @ self._explicit[self.slices[name]]
                self._lift_matrices += [(name, target, through[:, s]) for target, s in self.slices.items()]
            self._modulated = [
                replace(m, B=m.B + Y @ m.A) if m.source == name and m.B is not None else m for m in self._modulated
            ]
        self._lift_matrices = _merged(self._lift_matrices)

    def _gather(self, parts: Sequence[tuple[str, str, Tensor]]) -> Tensor:
        """Blocks (source, target, A) in one matrix that multiplies states from the right."""
        whole = torch.zeros(self.size, self.size, dtype=torch.float64)
        for source, target, A in parts:
            whole[self.slices[source], self.slices[target]] += A
        return whole

    # ---- evaluation -------------------------------------------------------------------------------------------

    def rhs(self, z: Tensor, t: float) -> Tensor:
        """A z + n(z, t)."""
        return self.linear.apply(z) + self.nonlinear(z, t)

    def nonlinear(self, z: Tensor, t: float) -> Tensor:
        """n(z, t): sources, explicit linear responses, nonlinear responses."""
        n = self.source(t).expand(z.shape)
        if self._explicit is not None:
            n = n + z @ self._explicit
        for m in self._modulated:
            c = m.coefficient(t=t)
            n = n + c * self._embed(m.target, z[..., self.slices[m.source]] @ m.A, z)
        if self._stage_terms:
            n = n + self._stage(z, t)
        return n

    def check_terms(self, z: Tensor, t: float) -> None:
        """Say which nonlinear term, if any, turns the finite state ``z`` into something that is not finite."""
        terms = self._stage_terms
        try:
            for term, mode in terms if float(z.abs().max()) < _LARGE else ():
                self._stage_terms = [(term, mode)]
                at = self.fields[term.field].interior.at.moment(t)
                check_finite(term, self._stage(z, t), at)
        finally:
            self._stage_terms = terms

    def _stage(self, z: Tensor, t: float) -> Tensor:
        interior: dict[str, Jet] = {}
        boundary: dict[str, Jet] = {}
        for name, field in self.fields.items():
            theta = field.theta(t)
            interior[name] = field.interior.of_state(z[..., self.slices[name]], theta)
            boundary[name] = field.boundary_jet(z[..., self.slices[name]], theta)
        any_field = next(iter(self.fields.values()))
        at, edge = any_field.interior.at.moment(t), any_field.boundary.at.moment(t)
        integrals: dict[str, Integrals] = {}
        for term, mode in self._stage_terms:
            into = integrals.setdefault(term.field, Integrals(self.fields[term.field]))
            integrate(into, term, mode, interior, boundary, at, edge)
        parts = [integrals[n].project() if n in integrals else torch.zeros_like(z[..., s])
                 for n, s in self.slices.items()]  # fmt: skip
        return torch.cat([p.expand(*z.shape[:-1], p.shape[-1]) for p in parts], dim=-1)

    def _embed(self, name: str, part: Tensor, like: Tensor) -> Tensor:
        whole = torch.zeros_like(like)
        whole[..., self.slices[name]] = part
        return whole

    # ---- what depends on time alone ---------------------------------------------------------------------------

    def prepare(self, times: Sequence[float], resolution: float) -> None:
        """Evaluate the sources at ``times`` together; ``source(t)`` then only looks them up (to ``resolution``)."""
        if resolution != self._resolution:  # keys are multiples of the resolution
            self._prepared, self._resolution = {}, resolution
        unique = {round(t / resolution): t for t in times}
        self._prepared = {k: v for k, v in self._prepared.items() if k in unique}
        missing = [k for k in unique if k not in self._prepared]
        if missing:
            column = torch.tensor([[unique[k]] for k in missing], dtype=torch.float64)
            self._prepared.update(zip(missing, self._sources(column), strict=True))

    def source(self, t: float) -> Tensor:
        """The part of n(z, t) that does not depend on z, shape (R,)."""
        found = self._prepared.get(round(t / self._resolution))
        return found if found is not None else self._sources(torch.tensor([[t]], dtype=torch.float64))[0]

    def _sources(self, times: Tensor) -> Tensor:
        """Sources for a column of times (T, 1): shape (T, R)."""
        total = torch.zeros(len(times), self.size, dtype=torch.float64)
        for name, field in self.fields.items():
            nodal = self._nodal[name]
            chunk = max(1, _SOURCE_CHUNK // len(field.space.weights))
            if nodal:
                at = field.interior.at
                moments = [at.moment(piece) for piece in times.split(chunk)]
                values = torch.cat([spread(sum(f(m) for f in nodal), m) for m in moments])
                total[:, self.slices[name]] += field.project_values(values)
            if field.lift_mass is not None:
                rate = field.theta(times, rate=True)
                assert rate is not None
                total[:, self.slices[name]] -= rate @ field.lift_mass
        for source, target, B in self._lift_matrices:
            total[:, self.slices[target]] += self._theta(source, times) @ B
        for m in self._modulated:
            if m.B is not None:
                c = torch.as_tensor(m.coefficient(t=times))
                total[:, self.slices[m.target]] += c * (self._theta(m.source, times) @ m.B)
        return total

    def _theta(self, name: str, times: Tensor) -> Tensor:
        theta = self.fields[name].theta(times)
        assert theta is not None
        return theta

    # ---- states -----------------------------------------------------------------------------------------------

    def initial(self, functions: Mapping[str, NodalSource], t: float) -> Tensor:
        """z(0): the L²(Ω) projection of the initial fields minus the lift."""
        parts = []
        for name, field in self.fields.items():
            values = functions[name](field.interior.at.moment(t))
            theta = field.theta(t)
            z = field.project_values(values)
            parts.append(z if theta is None or field.lift_mass is None else z - theta @ field.lift_mass)
        return torch.cat(parts)

    def coefficients(self, name: str, z: Tensor, t: float) -> Tensor:
        """Ambient coefficients a = a_bc(t) + N z of one field, shape (..., M)."""
        field = self.fields[name]
        a = z[..., self.slices[name]] @ field.space.N.T
        theta = field.theta(t)
        return a if theta is None or field.lift is None else a + theta @ field.lift.columns.T


def _named(fields: Sequence[DiscreteField], name: str) -> DiscreteField:
    return next(f for f in fields if f.name == name)


def _slices(fields: Sequence[DiscreteField]) -> dict[str, slice]:
    slices, start = {}, 0
    for f in fields:
        slices[f.name] = slice(start, start + f.r)
        start += f.r
    return slices


def _merged(matrices: Sequence[tuple[str, str, Tensor]]) -> list[tuple[str, str, Tensor]]:
    """One matrix per pair of fields."""
    sums: dict[tuple[str, str], Tensor] = {}
    for source, target, B in matrices:
        sums[source, target] = sums[source, target] + B if (source, target) in sums else B
    return [(source, target, B) for (source, target), B in sums.items()]


def _minus(coefficient: Expression, number: float) -> Expression:
    return formula("c - m", (), {"c": coefficient, "m": number})


def _source_of(term: Term) -> NodalSource:
    return lambda at: term.reference({}, at)


def manufactured_forcing(field: str, exact: Mapping[str, Expression], terms: Sequence[Term]) -> NodalSource:
    """f = ∂u*/∂t − Σ c_i L_i(u*) from the blocks' references, evaluated with exact derivatives."""
    own = [term for term in terms if term.field == field]

    def forcing(at: Location) -> Tensor:
        jets = {name: expression_jet(u, at) for name, u in exact.items()}
        f = spread(at(exact[field].d("t")), at)
        for term in own:
            f = f - term.reference(jets, at)
        return f

    return forcing
