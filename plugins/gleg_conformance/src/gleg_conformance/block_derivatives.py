"""Checks that automatic differentiation through a block gives its derivatives: Newton's method and training rely on it."""

from collections.abc import Callable

import torch
from torch import Tensor

from gleg_conformance.block_states import TINY, Bound, bound
from gleg_conformance.kit import Finding, applies_if, check


def _function(made: Bound) -> tuple[Callable[[Tensor], Tensor], Tensor]:
    """All responses side by side as a function of the state, each divided by its size; and a state."""
    applies_if(made.traits.degree != 0, "it does not read the fields")
    c = made.state()
    sizes = {name: float(values.abs().max()) or 1.0 for name, values in made.responses(c).items()}
    return lambda state: torch.cat([v / sizes[k] for k, v in made.responses(state).items()], dim=-1), c


@check("block", group="gradients", of=bound)
def gradient_is_the_derivative(made: Bound) -> Finding:
    """The gradient by automatic differentiation agrees with finite differences."""
    f, c = _function(made)
    direction = torch.randn_like(c) * 0.1
    cotangent = torch.randn_like(f(c))
    h = 1e-3
    samples = [((f(c + k * h * direction) - f(c - k * h * direction)) * cotangent).sum() / (2 * k * h) for k in (1, 2)]
    difference = float(4 * samples[0] - samples[1]) / 3  # Richardson: fourth order in h
    leaf = c.clone().requires_grad_()
    (gradient,) = torch.autograd.grad((f(leaf) * cotangent).sum(), leaf)
    size = max(abs(difference), 1e-3 * float(gradient.norm() * direction.norm()), TINY)
    gap = abs(float((gradient * direction).sum()) - difference) / size
    return Finding(gap, 1e-6, "directional derivative, automatic against finite differences")


@check("block", group="gradients", of=bound)
def products_are_adjoint(made: Bound) -> Finding:
    """Jacobian–vector and vector–Jacobian products are adjoint: ⟨w, Jv⟩ = ⟨Jᵀw, v⟩."""
    f, c = _function(made)
    v, w = torch.randn_like(c), torch.randn_like(f(c))
    _, Jv = torch.autograd.functional.jvp(f, c, v)  # differentiates the backward pass once more
    _, wJ = torch.autograd.functional.vjp(f, c, w)
    left, right = float((w * Jv).sum()), float((wJ * v).sum())
    size = max(float(w.norm() * Jv.norm()), float(wJ.norm() * v.norm()), TINY)
    return Finding(abs(left - right) / size, 1e-10, "⟨w, Jv⟩ − ⟨Jᵀw, v⟩")
