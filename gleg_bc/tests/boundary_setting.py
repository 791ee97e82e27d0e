"""Curved boundaries, a basis and the conditions for the tests of this pack."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gleg import default_registry
from gleg_core.contracts.basis import Basis, Frame, Site, as_points
from gleg_core.contracts.boundary import BoundaryOperator
from gleg_core.contracts.domain import Domain
from gleg_core.contracts.jet import Jet, MultiIndex
from gleg_core.contracts.location import Location
from gleg_core.spec.params import Scope

CONDITIONS: dict[str, dict[str, Any]] = {
    "dirichlet": {"value": "sin(2*x + t)*y"},
    "neumann": {"value": "x*exp(-t) + cos(y*t)"},
    "robin": {"kappa": "2 + x*y", "value": "t^2*x - y"},
    "clamped": {"value": "cos(x - 3*t)", "slope": "x*y*t"},
    "free": {},
}
SHAPES: dict[str, dict[str, Any]] = {
    "disk": {"radius": 0.6},
    "ellipse": {"a": 0.7, "b": 0.4, "angle": 0.4},
    "annulus": {"outer": 0.7, "inner": 0.3},
    "polar": {"radius": "0.6 + 0.1*cos(5*theta)"},
}


def make(contract: str, name: str, params: dict[str, Any], *arguments: Any, dim: int = 2) -> Any:
    registry = default_registry()
    component = registry.find(contract, name)
    model = registry.params(component).model_validate(params, context=Scope(dim=dim))
    return registry.factory(component)(model, *arguments)


def condition(name: str, dim: int = 2, **params: Any) -> BoundaryOperator:
    return make("boundary", f"bc:{name}", params or CONDITIONS[name], dim=dim)


def domain(shape: str) -> Domain:
    return make("domain", shape, SHAPES[shape])


def fourier(K: int) -> Basis:
    return make("basis", "fourier", {"K": K}, Site(Frame(np.array([0.05, -0.1]), np.full(2, 1.1), np.eye(2))))


def rim(shape: str, n: int = 25, t: float = 0.0) -> Location:
    """Points on all segments of ∂Ω."""
    samples = [segment.sample(n) for segment in domain(shape).segments]
    return Location(
        as_points(np.concatenate([s.points for s in samples])),
        t,
        as_points(np.concatenate([s.normals for s in samples])),
    )


def normal_difference(f: Callable[[Tensor], Tensor], at: Location, h: float = 2e-3) -> Tensor:
    """∂f/∂n of f: points (n, dim) → (..., n) by differences of sixth order."""
    assert at.normal is not None
    offsets = ((1, 45 / 60), (2, -9 / 60), (3, 1 / 60))
    return sum(
        (c * (f(at.x + j * h * at.normal) - f(at.x - j * h * at.normal)) / h for j, c in offsets),
        torch.zeros(()),
    )


def jet_of(f: Callable[[Tensor], Tensor], x: Tensor) -> Jet:
    """f: (n, dim) → (n,) with derivatives by automatic differentiation."""

    def derivative(alpha: MultiIndex) -> Tensor:
        at = x.clone().requires_grad_(True)
        value = f(at)
        for axis, order in enumerate(alpha):
            for _ in range(order):
                value = torch.autograd.grad(value.sum(), at, create_graph=True)[0][:, axis]
        return value.detach()

    return Jet(derivative, x.shape[1])
