"""Checks of the fast evaluation and integration that a basis may offer, on small versions of the example like those of :mod:`bases`."""

import itertools

import numpy as np
import torch

from gleg_conformance.basis_settings import multi_indices, relative, some_points, table_of, worst_of
from gleg_conformance.kit import Finding, Subject, check
from gleg_core.contracts.basis import Basis, as_points


@check("basis", group="interface")
def transform_agrees_with_tables(subject: Subject) -> Finding:
    """A transform, where the basis offers one for points on lines, gives a @ ∂^αΦ and its adjoint f @ ∂^αΦᵀ."""

    def error(basis: Basis) -> float:
        axis = np.linspace(-0.93, 0.88, 17)
        lines = np.stack(np.meshgrid(*[axis, *[axis[::2]] * (basis.dim - 1)], indexing="ij"), axis=-1)
        x = as_points(basis.frame.to_physical(lines.reshape(-1, basis.dim)))
        transform, worst = basis.transform(x), 0.0
        if transform is None:
            return 0.0
        for batch in ((), (3,), (2, 3), (0,)):
            a, f = (torch.randn(*batch, n, dtype=torch.float64) for n in (basis.size, len(x)))
            for alpha in multi_indices(basis.dim, 2):
                table = table_of(basis, x, alpha)
                worst = max(worst, relative(transform.synthesise(a, alpha), a @ table))
                worst = max(worst, relative(transform.adjoint(f, alpha), f @ table.T))
        return worst

    return worst_of(subject, error, 1e-11, "relative difference between the transform and products with tables")


@check("basis", group="interface")
def products_agree_with_tables(subject: Subject) -> Finding:
    """Integrals of products, where the basis offers them, are ∂^αΦ diag(w) ∂^βΦᵀ for any points and weights."""

    def error(basis: Basis) -> float:
        x = some_points(basis, 40)
        weights = torch.randn(len(x), dtype=torch.float64)
        products, worst = basis.products(x, weights), 0.0
        if products is None:
            return 0.0
        wanted = multi_indices(basis.dim, 2)
        for alpha, beta in itertools.product(wanted, wanted):
            expected = (table_of(basis, x, alpha) * weights) @ table_of(basis, x, beta).T
            worst = max(worst, relative(products(alpha, beta), expected))
        return worst

    return worst_of(subject, error, 1e-11, "relative difference between integrals of products and sums over tables")
