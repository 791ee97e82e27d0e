"""The reduced system  ż = A z + n(z, t)  of a problem.

    ż = Σ_i c_i q_i(z, t) − NᵀM_Ω ȧ_bc(t)

Nonlinear responses share one synthesis of each field and derivative and one projection per test derivative; what depends on time
alone is evaluated for many times at once. States are rows: z has shape (..., R), the fields one after another.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from gleg_core.algebra.linear import PartOfEach
from gleg_core.algebra.local_space import LocalSpace
from gleg_core.algebra.sparse_linear import SparsePart
from gleg_core.contracts.block import Mode
from gleg_core.contracts.integrator import LinearPart, Operator, WeakForm
from gleg_core.contracts.jet import Jet
from gleg_core.expressions import Expression
from gleg_core.matmul import matmul
from gleg_core.spec.switching import Switching
from gleg_core.system import assembly, linearisation
from gleg_core.system.discrete_field import DiscreteField
from gleg_core.system.prepared import on_global_functions, on_local_functions
from gleg_core.system.responses import Group, Responses
from gleg_core.system.sources import ManufacturedForcing, NodalSource, TabulatedInTime
from gleg_core.system.terms import Term, blamed_on, check_finite, choose_mode

_LIFTS = 9
"""Times at which lifts that move are measured."""
_LARGE = 1e100
"""A state this large has blown up by itself: no single term is to blame."""


class ReducedSystem:
    """ż = A z + n(z, t) for all fields of a problem."""

    def __init__(
        self,
        fields: Sequence[DiscreteField],
        terms: Sequence[Term],
        forcing: Mapping[str, ManufacturedForcing],
        interval: tuple[float, float],
        steady: Collection[str] = (),
        steady_lift: bool = True,
        data_scale: Tensor | float = 1.0,
        matrices: assembly.Matrices | None = None,
        switching: Switching | None = None,
    ):
        """``forcing``: per field, the forcing that makes its exact solution one. ``interval``: start and
        end of the run. ``steady``: fields with 0 = Σ terms, which are solved for and are no part of a state.
        ``steady_lift``: see :func:`gleg_core.system.assembly.with_steady_lifts`. ``data_scale``: a factor on all boundary data, a number
        or (..., 1) for the members of a batch. ``matrices`` of the linear terms in the coordinates of ``fields``, if they are known.
        ``switching``: when what is given jumps or has a kink in time."""
        by_name = {f.name: f for f in sorted(fields, key=lambda f: f.name in steady)}
        self.modes: list[tuple[Term, Mode]] = [(t, choose_mode(t, by_name[t.field])) for t in terms]
        for term in terms:
            with blamed_on(term):
                term.block.admit(by_name[term.field].space.basis)
        self._origin = forcing, interval, tuple(steady), steady_lift
        is_local = isinstance(fields[0].space, LocalSpace)  # all fields have one basis
        prepare = on_local_functions if is_local else on_global_functions
        prepared = prepare(by_name, self.modes, interval, steady, steady_lift, matrices)
        self.fields, self.linear = prepared.fields, prepared.linear
        self._last_given: tuple[Tensor, Tensor] | None = None
        self._columns, self.slices, parts = prepared.columns, prepared.slices, prepared.parts
        self.size = max(s.stop for s in self.slices.values())
        self._prepared, self._parts = prepared, parts
        self._responses = Responses(
            self.fields,
            [(term.field, term) for term in parts.sources],
            [(m.target, replace(m, B=None)) for m in parts.modulated if m.A is not None],
            [(term.field, term, mode) for term, mode in parts.staged],
        )
        self._forcing = forcing
        lifted = any(f.lift is not None for f in self.fields.values())
        responds = lifted or prepared.explicit is not None
        self._is_linear = not (responds or any((parts.sources, parts.modulated, parts.staged, forcing)))
        """Whether all is in A: n(z, t) = 0."""
        self.data_scale = data_scale
        self.switching = switching or Switching()
        self._boundary = TabulatedInTime(self._data_dependence) if lifted else None
        self._source = TabulatedInTime(self._time_dependence)
        moving = [name for name, f in self.fields.items() if f.lift is not None and f.lift.moving]
        self._data = {name: TabulatedInTime(partial(self._theta, name)) for name in moving}

    def scaled(
        self, scales: Sequence[Tensor | None], data_scale: Tensor | float = 1.0, steady_lift: bool | None = None
    ) -> "ReducedSystem":
        """The system with further factors (..., 1) on its terms, in their order, and on all boundary data; nothing is factorised. The
        factors may differ within a batch, and responses are differentiable in them. None leaves a term as it is. Lifts are not steady
        where factors would change them."""
        forcing, interval, steady, as_before = self._origin
        steady_lift = as_before if steady_lift is None else steady_lift
        terms = [replace(term, scale=scale) for (term, _), scale in zip(self.modes, scales, strict=True)]
        fields, known = list(self._prepared.origin.values()), self._prepared.matrices
        return ReducedSystem(fields, terms, forcing, interval, steady, steady_lift, data_scale, known, self.switching)

    def prepare(self, times: Sequence[float], resolution: float) -> None:
        """Evaluate sources and boundary data at ``times`` together, and forget all others; see :class:`TabulatedInTime`."""
        for table in self._tables:
            table.prepare(times, resolution)

    def forget(self) -> None:
        """All that is prepared: the next times are on the other side of a switch, or in another rollout."""
        for table in self._tables:
            table.forget()

    @property
    def _tables(self) -> list[TabulatedInTime]:
        return [self._source, *self._data.values(), *([self._boundary] if self._boundary is not None else [])]

    def crossed(self, z: Tensor, before: float, after: float) -> Tensor:
        """The state at ``after`` of the fields that ``z`` is at ``before``, at the two sides of a switch: where boundary data jump, the
        lift does, and u does not."""
        self.forget()
        jumps = torch.zeros_like(z)
        for name in self._data:
            field = self.fields[name]
            if name in self.slices and field.lift_mass is not None:
                change = self._theta(name, torch.tensor([[before], [after]], dtype=torch.float64)).diff(dim=0)[0]
                jumps = jumps + self._states({name: self.data_scale * (change @ field.lift_mass)}, z)
        return z - self._prepared.riesz(jumps)

    def _theta_at(self, name: str, t: float | Tensor) -> Tensor:
        """θ(t) of a field that has a lift, prepared if it moves: (k,), or (T, k) for a column of times."""
        return self._data[name](t) if name in self._data else self._theta(name, t)

    def rhs(self, z: Tensor, t: float) -> Tensor:
        """A z + n(z, t)."""
        return self.linear.apply(z) + self.nonlinear(z, t)

    def norm(self, z: Tensor) -> Tensor:
        """‖u‖ in L²(Ω) of the fields of a state without their lifts, all together, (...)."""
        return self.norms(z).norm(dim=-1)

    def norms(self, z: Tensor) -> Tensor:
        """Those of every field, (..., fields)."""
        return torch.stack([self.fields[name].space.norm(z[..., s]) for name, s in self.slices.items()], dim=-1)

    def full_norms(self, z: Tensor, t: float) -> Tensor:
        """‖u‖ in L²(Ω) of every field of a state with its lift, (..., fields)."""
        if all(self.fields[name].lift is None for name in self.slices):
            return self.norms(z)
        found = []
        for name, s in self.slices.items():
            field, theta = self.fields[name], self.fields[name].theta(t)
            u = field.interior.of_state(z[..., s], None if theta is None else self.data_scale * theta).value
            found.append((u**2 @ field.space.weights).sqrt())
        return torch.stack(torch.broadcast_tensors(*found), dim=-1)

    @cached_property
    def lift_norms(self) -> Tensor:
        """The largest norms over the run of lifts that move, (..., fields), by a few times: data that are nothing at first may be much
        later."""
        if not self._data:
            return torch.zeros(len(self.slices), dtype=torch.float64)
        zero, (start, end) = torch.zeros(self.size, dtype=torch.float64), self._origin[1]
        norms = [self.full_norms(zero, t) for t in np.linspace(start, end, _LIFTS).tolist()]
        return torch.stack(torch.broadcast_tensors(*norms)).amax(dim=0)

    def remainder(self, z: Tensor, t: float) -> dict[str, tuple[Tensor, Tensor, Tensor]]:
        """(u, u_t, u_t − Σ c_i L_i(u) − f) at the nodes for every field of a state, with the exact L_i: what the projection leaves."""
        full, rate = self._full(z, t), self.rhs(z, t)
        theta = {name: field.theta(t) for name, field in self.fields.items()}
        jets = {n: f.interior.of_state(full[..., self._columns[n]], theta[n]) for n, f in self.fields.items()}
        found = {}
        for name, s in self.slices.items():
            field = self.fields[name]
            at = field.interior.at.moment(t)
            u_t = left = field.interior.of_state(rate[..., s], field.theta(t, rate=True)).value
            for term, _ in self.modes:
                if term.field == name:
                    left = left - term.reference(jets, at)
            found[name] = jets[name].value, u_t, left - self._forcing[name](at) if name in self._forcing else left
        return found

    def moments(self, z: Tensor) -> Tensor:
        """∫ φ_i u, (..., R), of the fields u of a state without their lifts: ∫ u v is ``(moments(z_u) * z_v).sum(-1)``."""
        return z if self.weak is None else self.weak.mass(z)

    @property
    def weak(self) -> WeakForm | None:
        """The weak form on local functions."""
        return _Weak(self, self.linear) if isinstance(self.linear, SparsePart) else None

    def nonlinear(self, z: Tensor, t: float | Tensor) -> Tensor:
        """n(z, t): sources, explicit linear responses, nonlinear responses. A column of times (m, 1) gives each of m states its own."""
        if self._is_linear:
            return torch.zeros_like(z)
        moments = self.load(z, t)
        responds = self._responses.linear or self._responses.staged or self._parts.modulated
        given = self._prepared.explicit is None and not responds  # it does not depend on z
        return self._unchanging(moments) if given else self._prepared.riesz(moments)

    def load(self, z: Tensor, t: float | Tensor) -> Tensor:
        """n(z, t) as moments ∫ φ_i n."""
        if self._is_linear:
            return torch.zeros_like(z)
        n = self._given(t)[..., : self.size].expand(z.shape)
        full = self._full(z, t)
        if self._prepared.explicit is not None:
            n = n + matmul(full, self._prepared.explicit)
        for m in self._parts.modulated:
            if m.B is not None and isinstance(m.coefficient, Tensor):
                response = m.coefficient * self.data_scale * (self._theta_at(m.source, t) @ m.B)
                n = n + self._states({m.target: response}, z)
        if self._responses.linear or self._responses.staged:
            n = n + self._states(self._respond(self._responses, full, t), z)
        return n

    def _unchanging(self, moments: Tensor) -> Tensor:
        """The coordinates of what is given, found once as long as it stays the same."""
        if moments.requires_grad:
            return self._prepared.riesz(moments)
        if self._last_given is None or not torch.equal(self._last_given[0], moments):
            self._last_given = moments, self._prepared.riesz(moments)
        return self._last_given[1]

    @cached_property
    def autonomous(self) -> bool:
        """Whether n(z, t) does not depend on t."""
        parts = self._parts
        moves = any(term.varies_in_time for term in (*parts.sources, *(term for term, _ in parts.staged)))
        return not (
            moves or self._forcing or self._data or any(isinstance(m.coefficient, Expression) for m in parts.modulated)
        )

    def linearised(self, z: Tensor, t: float) -> LinearPart:
        """∂(A z + n)/∂z at a state, or at every state of a batch (..., R). Left out is what mechanisms read beyond a point, and on local
        functions what steady fields pass on."""
        if not (self._parts.staged or self._parts.modulated or self._prepared.explicit is not None):
            return self.linear
        rows = [partial(linearisation.member, batch=z.shape[:-1], i=i) for i in range(z[..., 0].numel())]
        states = zip(z.detach().reshape(-1, self.size), rows, strict=True)
        found = [
            linearisation.linearised(self._prepared, self._jets(state, t, row), t, row, partial(self._full, t=t))
            for state, row in states
        ]
        return found[0] if z.ndim == 1 else cast(LinearPart, PartOfEach(found))

    def reaction_rate(self, z: Tensor, t: float) -> float:
        """The fastest rate of nonlinear mechanisms without derivatives, at a state (R,) or soon after it."""
        at = next(iter(self.fields.values())).interior.at.moment(t)
        return linearisation.reaction_rate(self._parts.staged, self._jets(z, t)[0], at, list(self.slices))

    def _jets(
        self, z: Tensor, t: float, member: Callable[[Any], Any] = lambda value: value
    ) -> tuple[dict[str, Jet], dict[str, Jet]]:
        """Of all fields at a state (R,), in Ω and on ∂Ω; ``member`` chooses its part of what differs within a batch."""
        full, inside, rim = self._full(z, t), {}, {}
        for name, s in self._columns.items():
            field, theta = self.fields[name], self.fields[name].theta(t)
            theta = None if theta is None else member(self.data_scale) * theta
            inside[name], rim[name] = field.interior.of_state(full[s], theta), field.boundary_jet(full[s], theta)
        return inside, rim

    def _given(self, t: float | Tensor) -> Tensor:
        """What does not depend on the state: sources, forcing and boundary data, as moments ∫ φ_i f, steady fields included."""
        return self._source(t) if self._boundary is None else self._source(t) + self.data_scale * self._boundary(t)

    def _full(self, z: Tensor, t: float | Tensor) -> Tensor:
        """The state with the steady fields solved for: z_ψ K_ψ + Σ z_s A_sψ + f_ψ(t) = 0."""
        parts = [z]
        for name, solve in self._prepared.steady.items():
            load = self._given(t)[..., self._columns[name]].expand(*z.shape[:-1], -1)
            if name in self._prepared.to_steady:
                load = load + matmul(z, self._prepared.to_steady[name])
            parts.append(solve(-load))
        return torch.cat(parts, dim=-1) if len(parts) > 1 else z

    def check_terms(self, z: Tensor, t: float) -> None:
        """Say which nonlinear term, if any, turns the finite state ``z`` into something that is not finite, or has no solution."""
        if self._parts.staged and float(z.abs().max()) < _LARGE:
            each = Responses(self.fields, staged=[(p, *one) for p, one in enumerate(self._parts.staged)])
            for p, response in self._respond(each, self._full(z, t), t).items():
                term, _ = self._parts.staged[p]
                at = self.fields[term.field].interior.at.moment(t)
                check_finite(term, response, at)
            if z.ndim == 1:
                linearisation.check_diffusion(self._parts.staged, self._jets(z, t)[0], at)

    def _respond(self, responses: Responses[Group], full: Tensor, t: float | Tensor) -> dict[Group, Tensor]:
        """Responses to a state with the steady fields."""
        state = {name: full[..., s] for name, s in self._columns.items()}
        theta = {n: None if f.lift is None else self.data_scale * self._theta_at(n, t) for n, f in self.fields.items()}
        return responses.to_states(state, theta, t)

    def _states(self, parts: Mapping[str, Tensor], like: Tensor) -> Tensor:
        """Parts per field side by side, zero for the others."""
        zero = like.new_zeros(())
        return torch.cat([parts.get(n, zero).expand(like[..., s].shape) for n, s in self.slices.items()], dim=-1)

    def _time_dependence(self, times: Tensor) -> Tensor:
        """Sources for a column of times (T, 1): shape (T, R)."""
        where = self._columns
        total = torch.zeros(len(times), max(s.stop for s in where.values()), dtype=torch.float64)
        for name, load in self._responses.loads(times).items():
            total[:, where[name]] += load
        for name, forcing in self._forcing.items():
            total[:, where[name]] += forcing.load(self.fields[name], self.modes, times)
        return total

    def _data_dependence(self, times: Tensor) -> Tensor:
        """What boundary data contribute, for a column of times (T, 1): shape (T, R)."""
        where = self._columns
        total = torch.zeros(len(times), max(s.stop for s in where.values()), dtype=torch.float64)
        for name, field in self.fields.items():
            if field.lift_mass is not None and name not in self._prepared.steady:
                total[:, where[name]] -= self._theta(name, times, rate=True) @ field.lift_mass
        for c in self._parts.data:
            total[:, where[c.target]] += self._theta(c.source, times) @ c.matrix
        for m in self._parts.modulated:
            if m.B is not None and isinstance(m.coefficient, Expression):
                total[:, where[m.target]] += m.at(times) * (self._theta(m.source, times) @ m.B)
        return total

    def _theta(self, name: str, times: float | Tensor, rate: bool = False) -> Tensor:
        theta = self.fields[name].theta(times, rate)
        assert theta is not None
        return theta

    def initial(self, functions: Mapping[str, NodalSource], t: float) -> Tensor:
        """z(0): the L²(Ω) projection of the initial fields minus the lift."""
        parts = []
        for name in self.slices:
            field = self.fields[name]
            values = functions[name](field.interior.at.moment(t))
            theta = field.theta(t)
            parts.append(field.state_of(values, None if theta is None else self.data_scale * theta))
        batch = np.broadcast_shapes(*(z.shape[:-1] for z in parts))
        return torch.cat([z.expand(*batch, -1) for z in parts], dim=-1)

    def coefficients(self, name: str, z: Tensor, t: float | Tensor) -> Tensor:
        """Ambient coefficients a = a_bc(t) + N z of one field, shape (..., M)."""
        field = self.fields[name]
        theta = field.theta(t)
        own = self._full(z, t)[..., self._columns[name]]
        return field.ambient_coefficients(own, None if theta is None else self.data_scale * theta)


@dataclass(frozen=True)
class _Weak:
    """M ż = K z + f(z, t) on local functions; M and K multiply rows."""

    system: ReducedSystem
    linear: SparsePart

    def mass(self, z: Tensor) -> Tensor:
        return z @ self.linear.mass

    def riesz(self, f: Tensor) -> Tensor:
        return self.linear.riesz(f)

    def stiffness(self, z: Tensor) -> Tensor:
        return self.linear.stiff(z)

    def load(self, z: Tensor, t: float | Tensor) -> Tensor:
        return self.system.load(z, t)

    def solution(self, g: float) -> Operator:
        return self.linear.solution(g)
