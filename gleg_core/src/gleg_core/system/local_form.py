"""Linear mechanisms as coefficients of derivatives, and the cheap ways to their matrices.

The integrands of a linear mechanism that acts locally are  F_α = Σ_β W_αβ(x) ∂^βu.  Its coefficients W are what it answers to a
function all of whose derivatives are zero but one. With them

* what is symmetric with a sign, W_αβ = ±δ_αβ |W_αα|, is a sum of squares of tables, half the work of a product;
* the matrix of the M ambient functions can be made from integrals of their products alone and carried over to any coordinates,
  A = N_sᵀ (Σ_αβ ∫ W_αβ ∂^βφ ∂^αφᵀ) N_t, with no table at all. Rounding errors are then multiplied by the size of columns of N, so the
  space says for which functions that is below the error allowed in integrals; for the others, tables are made.
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from gleg_core.algebra.symmetric import congruent, gram
from gleg_core.algebra.tables import integrated_products
from gleg_core.contracts.jet import Jet, MultiIndex
from gleg_core.contracts.transform import IntegratedProducts
from gleg_core.matmul import matmul
from gleg_core.system.discrete_field import DiscreteField, PointValues

Integrands = Mapping[MultiIndex, Tensor]
"""Test derivative α → F_α, (..., n)."""
Mechanism = Callable[[Jet], Integrands]
"""The integrands of a linear mechanism for a jet of the field it reads."""
LocalForm = Mapping[tuple[MultiIndex, MultiIndex], Tensor]
"""(α, β) → W_αβ (n,)."""

_LOCAL = 1e-10
"""Relative difference between a mechanism and its local form that rounding explains."""
_STATES = 2
"""Random functions on which the two are compared."""
_MOST = 0.6
"""Part of the functions that may be large for products of the others to be worth it."""


def local_form(mechanism: Mechanism, source: PointValues) -> LocalForm | None:
    """The coefficients of a linear mechanism at the points of a field, None if it does not act locally."""
    at = source.at
    asked: list[MultiIndex] = []

    def noted(beta: MultiIndex) -> Tensor:
        asked.append(beta)
        return at.x.new_zeros(1, len(at.x))

    mechanism(Jet(noted, at.dim))
    one = torch.eye(len(asked), dtype=at.x.dtype)[:, :, None].repeat(1, 1, len(at.x))
    answers = mechanism(Jet(lambda beta: one[asked.index(beta)], at.dim)) if asked else {}
    form = {
        (alpha, beta): values.expand(len(asked), len(at.x))[k]
        for alpha, values in answers.items()
        for k, beta in enumerate(asked)
    }
    return form if _agrees(form, mechanism, source) else None


def without_rounding(form: LocalForm, beside: LocalForm) -> LocalForm:
    """The coefficients that are not zero up to rounding, of itself and of another form ``beside`` it."""
    size = max([float(W.abs().max()) for W in (*form.values(), *beside.values())], default=0.0)
    return {pair: W for pair, W in form.items() if float(W.abs().max()) > _LOCAL * size}


def _agrees(form: LocalForm, mechanism: Mechanism, source: PointValues) -> bool:
    """Whether the coefficients give the mechanism's integrands for random functions of the field: those of a mean, say, do not."""
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(_STATES, source.functions.rows, dtype=torch.float64, generator=generator)
    jet = source.of_state(states, None)
    for alpha, values in mechanism(jet).items():
        own = {beta: W for (a, beta), W in form.items() if a == alpha}
        difference = sum((W * -jet.d(beta) for beta, W in own.items()), values)
        scale = max([float((W * jet.d(beta)).abs().max()) for beta, W in own.items()], default=0.0)
        if not float(difference.abs().max()) <= _LOCAL * scale:
            return False
    return True


def matrix(form: LocalForm, source: DiscreteField, target: DiscreteField) -> Tensor | None:
    """A (r_source, r_target) of q = z @ A in the cheapest of the ways above that is open, None if none is."""
    same = source.dense.N is target.dense.N
    zero = (0,) * source.dense.basis.dim
    mass = 0.0
    if same and (zero, zero) in form and _constant(form[zero, zero]):
        mass = float(form[zero, zero][0])  # NᵀM_ΩN = I
        form = {pair: W for pair, W in form.items() if pair != (zero, zero)}
    form = {pair: W for pair, W in form.items() if bool((W != 0).any())}
    squares = same and all(alpha == beta and _has_a_sign(W) for (alpha, beta), W in form.items())
    products = source.dense.products() if any(sum(alpha) + sum(beta) for alpha, beta in form) else None
    large = source.dense.large if same else torch.stack([source.dense.large.any(), target.dense.large.any()])
    if products is not None and (not large.any() or (same and float(large.double().mean()) < _MOST)):
        A = _by_products(form, source, target, products)
        if large.any():
            A[large[:, None] & large] = _by_tables(form, source, source.dense.N[:, large]).flatten()
    elif squares:
        A = _by_tables(form, source, source.dense.N)
    else:
        return None
    return A + mass * torch.eye(len(A), dtype=A.dtype) if mass else A


def _constant(W: Tensor) -> bool:
    return bool((W[0] == W).all())


def _symmetric(form: LocalForm) -> bool:
    """Whether W_αβ = W_βα."""
    return all((b, a) in form and (a == b or torch.equal(W, form[b, a])) for (a, b), W in form.items())


def _has_a_sign(W: Tensor) -> bool:
    return bool((W >= 0).all()) or bool((W <= 0).all())


def _by_tables(form: LocalForm, field: DiscreteField, columns: Tensor) -> Tensor:
    """Σ_αβ ∫ W_αβ ∂^βf_i ∂^αf_j for the functions f of some ``columns`` (M, k); squares are half the work."""
    A = torch.zeros(columns.shape[1], columns.shape[1], dtype=torch.float64)
    tables = field.dense.tables(field.interior.at, columns)  # not those of the field, which would stay in memory
    for (alpha, beta), W in form.items():
        if alpha == beta and _has_a_sign(W):
            values = tables.made(alpha).mul_((field.dense.weights * W.abs()).sqrt())
            A.add_(torch.from_numpy(gram(values.numpy())), alpha=1.0 if float(W.sum()) > 0 else -1.0)
        else:
            A += matmul(tables.made(beta).mul_(field.dense.weights * W), tables.made(alpha).T)
    return A


def _by_products(form: LocalForm, source: DiscreteField, target: DiscreteField, products: IntegratedProducts) -> Tensor:
    """N_sᵀ (Σ_αβ ∫ W_αβ ∂^βφ ∂^αφᵀ) N_t, symmetric to the last bit where W_αβ = W_βα."""
    basis, nodes = source.dense.basis, source.dense.nodes
    # what a basis gives may be its own: it is not changed
    ambient = torch.zeros(basis.size, basis.size, dtype=torch.float64)
    for (alpha, beta), W in form.items():
        if _constant(W):
            ambient.add_(products(beta, alpha), alpha=float(W[0]))
        else:
            ambient += integrated_products(basis, nodes.x, target.dense.weights * W)(beta, alpha)
    N = source.dense.N
    if N is target.dense.N and _symmetric(form):
        return torch.from_numpy(congruent(ambient.numpy(), N.numpy()))
    return matmul(matmul(N.T, ambient), target.dense.N)
