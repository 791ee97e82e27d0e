"""Declared mechanisms as blocks: reference operator, weak form and boundary term, all derived from one function."""

import importlib
from collections.abc import Mapping
from functools import reduce
from typing import Any, Self, cast

import torch
from pydantic import BaseModel
from torch import Tensor

from gleg_core.contracts.block import Binding, Block, Fields, Structure, Traits
from gleg_core.contracts.jet import Jet, MultiIndex, unit
from gleg_core.contracts.learned import LearnedBlock
from gleg_core.contracts.location import COORDINATES, Location
from gleg_core.errors import PackError, SpecError
from gleg_core.expressions import Expression
from gleg_core.mechanisms.calculus import JetFunction, Values, Variable, total, variational_derivative
from gleg_core.mechanisms.declare import GRADIENT, LAPLACIAN, Mechanism
from gleg_core.weights.guard import RangeGuard
from gleg_core.weights.load import load_frozen


def declared_block(mechanism: Mechanism, params: BaseModel, binding: Binding) -> Block:
    """The block of an entry: with trained weights if it has a net."""
    if mechanism.net is None:
        return _FORMS[mechanism.form](mechanism, params, binding)
    return mechanism.Learned(params, binding)  # type: ignore[call-arg]


class Declared(Block):
    """A block made from the function of a mechanism; subclasses say what the function returns."""

    def __init__(self, mechanism: Mechanism, params: BaseModel, binding: Binding):
        self._mechanism, self._dim, self._binding = mechanism, binding.dim, binding
        given = dict(params)
        roles = mechanism.roles
        self._field_of = {role: given.pop(role) for role in roles[1:]}
        if roles:
            self._field_of[roles[0]] = given.pop("of") or binding.target
        self._axis = COORDINATES.index(given.pop("direction")) if mechanism.form == "hamiltonian" else 0
        has = f"the domain has {binding.dim} dimensions"
        if self._axis >= binding.dim:
            raise SpecError(f"{mechanism.name}: direction {COORDINATES[self._axis]}, {has}")
        if beyond := [c for c in COORDINATES[binding.dim :] if c in mechanism.reads]:
            raise SpecError(f"{mechanism.name} reads the coordinate {beyond[0]}, {has}")
        self._formulas = {k: v for k, v in given.items() if isinstance(v, Expression)}
        self._numbers = {k: v for k, v in given.items() if k not in self._formulas}
        self.net: torch.nn.Module | None = None
        clamped = (0, 1) if mechanism.form == "energy" and mechanism.order == 4 else ()
        self.traits = Traits(
            cast(Structure, mechanism.structure),
            order=mechanism.order,
            degree=mechanism.degree,
            modes=mechanism.modes,
            invariants=mechanism.invariants,
            time_dependent="t" in mechanism.reads or any("t" in f.free for f in self._formulas.values()),
            weak_traces=clamped if mechanism.traces is None else mechanism.traces,
            conditions=mechanism.conditions,
        )

    @property
    def acts_on(self) -> str | None:
        names = set(self._field_of.values())
        return next(iter(names)) if len(names) == 1 else None

    @property
    def primary(self) -> str:
        """The field that variations are taken of."""
        return self._mechanism.roles[0]

    def _variables(self, word: str) -> list[Variable]:
        """What an argument is made of: a value, first derivatives for a gradient, second ones for a Laplacian."""
        role, dim = word.partition("_")[2], self._dim
        if word in COORDINATES:
            return [("", unit(dim, COORDINATES.index(word)))]
        if word.startswith((GRADIENT, LAPLACIAN)):
            return [(role, unit(dim, i, 1 if word.startswith(GRADIENT) else 2)) for i in range(dim)]
        return [] if word in ("t", "net") else [(word, (0,) * dim)]

    @property
    def _reads(self) -> frozenset[Variable]:
        """What the function needs. Formulas among the parameters are known functions of x, so they are variables too."""
        known = [(name, (0,) * self._dim) for name in self._formulas]
        return frozenset([*known, *(v for word in self._mechanism.reads for v in self._variables(word))])

    def _call(self, values: Values, at: Location) -> Any:
        """The function, its arguments taken from the variables."""
        arguments: list[Any] = []
        for word in self._mechanism.reads:
            parts = [values[v] for v in self._variables(word)]
            if word.startswith(GRADIENT):
                arguments.append(tuple(parts))
            elif word.startswith(LAPLACIAN):
                arguments.append(sum(parts))
            else:
                arguments.append(at.t if word == "t" else self.net if word == "net" else parts[0])
        formulas = {k: values[k, (0,) * self._dim] for k in self._formulas}
        return self._mechanism.function(*arguments, **self._numbers, **formulas)

    def _density(self, at: Location) -> JetFunction:
        return JetFunction(lambda values: self._call(values, at), self._reads)

    def _values(self, reads: frozenset[Variable], fields: Fields, at: Location) -> dict[Variable, Tensor]:
        """The variables at the points, all of one shape."""
        found: dict[Variable, Tensor] = {}
        for name, alpha in sorted(reads):
            if not name:
                found[name, alpha] = at.x[:, alpha.index(1)]
            elif name in self._formulas:
                axes = [c for c, order in zip(COORDINATES, alpha, strict=False) for _ in range(order)]
                found[name, alpha] = at(reduce(lambda f, c: f.d(c), axes, self._formulas[name]))
            else:
                found[name, alpha] = fields[self._field_of[name]].d(alpha)
        return dict(zip(found, torch.broadcast_tensors(*found.values()), strict=True)) if found else {}

    def _boundary_values(self, fields: Fields, at: Location) -> dict[Variable, Tensor]:
        """The variables on ∂Ω, the normal part of every gradient as the boundary conditions state it."""
        assert at.normal is not None
        values = self._values(self._reads, fields, at)
        for role in self._mechanism.roles:
            if (role, unit(self._dim, 0)) in values:
                jet: Jet = fields[self._field_of[role]]
                change = jet.along(at.normal) - sum(jet.grad[i] * at.normal[:, i] for i in range(self._dim))
                for i in range(self._dim):
                    values[role, unit(self._dim, i)] = values[role, unit(self._dim, i)] + change * at.normal[:, i]
        return values

    def _evaluate(self, function: JetFunction, fields: Fields, at: Location) -> Tensor:
        return function.value(self._values(function.reads, fields, at))


class Pointwise(Declared):
    """L = f."""

    def reference(self, fields: Fields, at: Location) -> Tensor:
        values = self._values(self._reads, fields, at)
        result = self._call(values, at)
        if isinstance(result, Tensor) and self._mechanism.roles:
            return result
        times = at.t.shape[:-1] if isinstance(at.t, Tensor) else ()
        return torch.as_tensor(result, dtype=at.x.dtype).expand(*times, at.x.shape[0])


class Flux(Declared):
    """L = ∇·F;  weak form −∫ ∇v·F + ∮ v F·n."""

    def _components(self, values: Values, at: Location) -> tuple[Tensor, ...]:
        F = self._call(values, at)
        if not isinstance(F, (tuple, list)) or len(F) != self._dim:
            raise PackError(
                f"the flux {self._mechanism.name} must return a tuple of {self._dim} tensors, one per coordinate"
            )
        return tuple(F)

    def reference(self, fields: Fields, at: Location) -> Tensor:
        def component(i: int) -> JetFunction:
            return JetFunction(lambda values: self._components(values, at)[i], self._reads)

        divergence = total([(1.0, component(i).derivative(i)) for i in range(self._dim)])
        return self._evaluate(divergence, fields, at)

    def weak(self, fields: Fields, at: Location) -> Mapping[MultiIndex, Tensor]:
        F = self._components(self._values(self._reads, fields, at), at)
        return {unit(self._dim, i): -F_i for i, F_i in enumerate(F)}

    def weak_boundary(self, fields: Fields, at: Location) -> Tensor:
        assert at.normal is not None
        F = self._components(self._boundary_values(fields, at), at)
        return torch.stack([F_i * at.normal[:, i] for i, F_i in enumerate(F)]).sum(dim=0)


class Energy(Declared):
    """L = −δE/δu, E = ∫ e;  weak form −Σ_α ∫ ∂^αv ∂e/∂u_α + ∮ v ∂e/∂(∇u)·n."""

    def reference(self, fields: Fields, at: Location) -> Tensor:
        return -self._evaluate(variational_derivative(self._density(at), self.primary), fields, at)

    def weak(self, fields: Fields, at: Location) -> Mapping[MultiIndex, Tensor]:
        density = self._density(at)
        values = self._values(self._reads, fields, at)
        return {v[1]: -density.partial(v).value(values) for v in sorted(self._reads) if v[0] == self.primary}

    def weak_boundary(self, fields: Fields, at: Location) -> Tensor | None:
        assert at.normal is not None
        density, normal = self._density(at), at.normal
        slopes = [v for i in range(self._dim) if (v := (self.primary, unit(self._dim, i))) in self._reads]
        if not slopes or self.traits.weak_traces:
            return None
        values = self._boundary_values(fields, at)
        parts = [density.partial(v).value(values) * normal[:, i] for i, v in enumerate(slopes)]
        return torch.stack(parts).sum(dim=0)


class Hamiltonian(Declared):
    """L = ∂_i δH/δu, H = ∫ h;  for h(u, x, t) the weak form is −∫ ∂_i v h_u + ∮ v n_i h_u."""

    def reference(self, fields: Fields, at: Location) -> Tensor:
        slope = variational_derivative(self._density(at), self.primary)
        return self._evaluate(slope.derivative(self._axis), fields, at)

    def _slope(self, values: Values, at: Location) -> Tensor:
        """h_u."""
        return self._density(at).partial((self.primary, (0,) * self._dim)).value(values)

    def weak(self, fields: Fields, at: Location) -> Mapping[MultiIndex, Tensor]:
        return {unit(self._dim, self._axis): -self._slope(self._values(self._reads, fields, at), at)}

    def weak_boundary(self, fields: Fields, at: Location) -> Tensor:
        assert at.normal is not None
        return at.normal[:, self._axis] * self._slope(self._boundary_values(fields, at), at)


_FORMS: dict[str, type[Declared]] = {"pointwise": Pointwise, "flux": Flux, "energy": Energy, "hamiltonian": Hamiltonian}


def learned_class(mechanism: Mechanism) -> type[LearnedBlock]:
    """The form of the mechanism with a net: trained, frozen and checked against its card when used."""
    form = _FORMS[mechanism.form]
    assert mechanism.net is not None
    module_name, _, attribute = mechanism.net.partition(":")

    class Learned(form, LearnedBlock):  # type: ignore[valid-type, misc]
        weights = mechanism.weights or ""
        recipe = mechanism.recipe
        reference, pointwise = LearnedBlock.reference, LearnedBlock.pointwise  # the form's own is the response

        def __init__(self, params: BaseModel, binding: Binding, trained: bool = True):
            super().__init__(mechanism, params, binding)
            kind = reduce(getattr, attribute.split("."), cast(Any, importlib.import_module(module_name)))
            self.module = self.net = kind().double()
            if (twin := mechanism.twin) is not None:  # the exact mechanism with those of the parameters that it has too
                shared = {key: value for key, value in dict(params).items() if key in twin.Params.model_fields}
                self.law = twin.block(twin.Params.model_construct(**shared), binding)
            self._guard = RangeGuard(load_frozen(self.module, self.weights, mechanism.name)) if trained else None

        @classmethod
        def untrained(cls, params: BaseModel, binding: Binding) -> Self:
            return cls(params, binding, trained=False)

        def _values(self, reads: frozenset[Variable], fields: Fields, at: Location) -> dict[Variable, Tensor]:
            if self._guard is not None:
                self._guard.amplitude(fields[self._field_of[self.primary]].value)
            return super()._values(reads, fields, at)

        def response(self, fields: Fields, at: Location) -> Tensor:
            return form.reference(self, fields, at)

    Learned.__name__ = Learned.__qualname__ = f"Learned{form.__name__}"
    return Learned
