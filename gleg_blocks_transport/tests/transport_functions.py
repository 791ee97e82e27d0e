"""Smooth functions, domains and blocks for the tests of this pack."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from gleg_core.contracts.basis import as_points
from gleg_core.contracts.block import Binding, Block
from gleg_core.contracts.domain import Domain
from gleg_core.contracts.jet import Jet, MultiIndex
from gleg_core.contracts.location import Location
from gleg_core.registry import default_registry
from gleg_core.spec.params import Scope

FIELDS = ("u", "v")


def block(name: str, dim: int = 2, **params: object) -> Block:
    """The block of a term ``name`` in the equation of u."""
    registry = default_registry()
    component = registry.find("block", f"transport:{name}")
    model = registry.params(component).model_validate(params, context=Scope(dim=dim, fields=FIELDS))
    return registry.factory(component)(model, Binding("u", FIELDS, dim))


def domain(kind: str, **params: object) -> Domain:
    registry = default_registry()
    component = registry.find("domain", kind)
    model = registry.params(component).model_validate(params)
    return registry.factory(component)(model)


class Waves:
    """Functions Σ_m a_m sin(κ_m·x + φ_m): any batch of amplitudes a (..., m), all derivatives in closed form."""

    def __init__(self, dim: int, size: int = 6, seed: int = 0, dtype: torch.dtype = torch.float64):
        random = torch.Generator().manual_seed(seed)
        self._kappa = (3 * torch.randn(size, dim, generator=random, dtype=torch.float64)).to(dtype)
        self._phase = torch.randn(size, generator=random, dtype=torch.float64).to(dtype)
        self._random, self.size, self.dim, self._dtype = random, size, dim, dtype

    def amplitudes(self, *batch: int) -> Tensor:
        """Random numbers that keep |u| below 4, the certified range of the learned transport."""
        return (torch.randn(*batch, self.size, generator=self._random, dtype=torch.float64) / 2).to(self._dtype)

    def table(self, x: Tensor, alpha: MultiIndex) -> Tensor:
        """∂^α of the single waves, (m, n): every derivative adds a quarter turn and a factor κ."""
        turned = self._kappa @ x.T + self._phase[:, None] + sum(alpha) * math.pi / 2
        return torch.prod(self._kappa ** self._kappa.new_tensor(alpha), dim=1)[:, None] * torch.sin(turned)

    def jet(self, a: Tensor, x: Tensor) -> Jet:
        return Jet(lambda alpha: a @ self.table(x, alpha), self.dim)


def autograd_jet(f: Callable[[Tensor], Tensor], x: Tensor) -> Jet:
    """f: (n, dim) → (n,) with derivatives by automatic differentiation."""

    def derivative(alpha: MultiIndex) -> Tensor:
        at = x.clone().requires_grad_(True)
        value = f(at)
        for axis, order in enumerate(alpha):
            for _ in range(order):
                value = torch.autograd.grad(value.sum(), at, create_graph=True)[0][:, axis]
        return value.detach()

    return Jet(derivative, x.shape[1])


def integral_of_weak_form(
    mechanism: Block, shape: Domain, fields: Callable[[Tensor], dict[str, Jet]], test: Callable[[Tensor], Jet], t: float
) -> tuple[Tensor, Tensor]:
    """(weak form with its boundary term, ∫ v L(u) from the reference), on accurate rules."""
    rule = shape.quadrature(80.0)
    at, weights = Location(as_points(rule.points), t), as_points(rule.weights)
    v, u = test(at.x), fields(at.x)
    pointwise = (v.value * mechanism.reference(u, at)) @ weights
    weak = sum((v.d(alpha) * flux) @ weights for alpha, flux in mechanism.weak(u, at).items())
    for segment in shape.segments:
        edge = segment.sample(200)
        on = Location(as_points(edge.points), t, as_points(edge.normals))
        outer = mechanism.weak_boundary(fields(on.x), on)
        assert outer is not None
        weak = weak + (test(on.x).value * outer) @ as_points(edge.weights)
    assert isinstance(weak, Tensor)
    return weak, pointwise
