"""Checks of the fast evaluation and integration that a basis may offer, on small versions of the example like those of :mod:`bases`."""

import itertools

import numpy as np
import torch

from gleg_conformance.basis_settings import basis_check, multi_indices, relative, some_points, table_of
from gleg_core.contracts.basis import Basis, as_points


@basis_check("interface", 1e-11, "relative difference between the transform and products with tables")
def transform_agrees_with_tables(basis: Basis) -> float:
    """A transform, where the basis offers one for points on lines, gives a @ ∂^αΦ and its adjoint f @ ∂^αΦᵀ."""
    axis = np.linspace(-0.93, 0.88, 17)
    lines = np.stack(np.meshgrid(*[axis, *[axis[::2]] * (basis.dim - 1)], indexing="ij"), axis=-1)
    x = as_points(basis.frame.to_physical(lines.reshape(-1, basis.dim)))
    transform, errors = basis.transform(x), []
    if transform is None:
        return 0.0
    for batch in ((), (3,), (2, 3), (0,)):
        a, f = (torch.randn(*batch, n, dtype=torch.float64) for n in (basis.size, len(x)))
        for alpha in multi_indices(basis.dim, 2):
            table = table_of(basis, x, alpha)
            errors.append(relative(transform.synthesise(a, alpha), a @ table))
            errors.append(relative(transform.adjoint(f, alpha), f @ table.T))
    return max(errors)


@basis_check("interface", 1e-11, "relative difference between integrals of products and sums over tables")
def products_agree_with_tables(basis: Basis) -> float:
    """Integrals of products, where the basis offers them, are ∂^αΦ diag(w) ∂^βΦᵀ for any points and weights."""
    x = some_points(basis, 40)
    weights = torch.randn(len(x), dtype=torch.float64)
    products = basis.products(x, weights)
    if products is None:
        return 0.0
    return max(
        relative(products(alpha, beta), (table_of(basis, x, alpha) * weights) @ table_of(basis, x, beta).T)
        for alpha, beta in itertools.product(multi_indices(basis.dim, 2), repeat=2)
    )
