"""Tables of functions at points: what every matrix of the method is made of."""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from gleg_core.contracts.basis import Basis
from gleg_core.contracts.jet import MultiIndex
from gleg_core.contracts.local_basis import LocalBasis
from gleg_core.contracts.transform import IntegratedProducts, Transform
from gleg_core.matmul import matmul

_CHUNK = 2048
"""Points per piece: keeps the ambient table (M × piece) small beside the reduced one."""
_IN_CACHE = 24e6
"""Bytes of a table that a processor's last cache is likely to hold from one product to the next."""
_BANDWIDTH = {"cache": 7.5e10, "memory": 2.8e10, "transform": 4e10}
"""Typical bytes per second of matrix–vector products with tables there, and half of that of the many small products of a transform: where
it gains little, tables are preferred, which round less."""
_CALL = 6e-5
"""Seconds that one call of a transform takes before it does anything."""
_BATCH = 16
"""States from which on products are bound by arithmetic, not by memory."""
_SLOWER = 2.0
"""How much longer a multiplication of a transform takes in a batch than one of a product with a table."""


def tabulate(basis: Basis, points: Tensor, alpha: MultiIndex) -> Tensor:
    """∂^αφ_j at the points, (M, n)."""
    return basis.tabulate(points, [alpha])[alpha]


def integrated_products(basis: Basis, points: Tensor, weights: Tensor) -> IntegratedProducts:
    """(α, β) ↦ Σ_q w_q ∂^αφ_i ∂^βφ_j, (M, M): in the basis' own way if it has one, else from tables, some points at a time."""

    def by_tables(alpha: MultiIndex, beta: MultiIndex) -> Tensor:
        total = weights.new_zeros(basis.size, basis.size)
        for x, w in zip(points.split(_CHUNK), weights.split(_CHUNK), strict=True):
            tables = basis.tabulate(x, {alpha, beta})
            total += matmul(tables[alpha] * w, tables[beta].T)
        return total

    return basis.products(points, weights) or by_tables


def _reading(numbers: int) -> float:
    """Seconds of a product with a table of so many numbers."""
    return 8 * numbers / _BANDWIDTH["cache" if 8 * numbers < _IN_CACHE else "memory"]


class Tables:
    """The functions f_k = Σ_j X_jk φ_j at fixed points: tables ∂^αf_k (k, n), computed when first asked for, and products with them.

    Products are made with the tables, or by the basis' ``transform`` at these points where that moves clearly less memory.
    """

    def __init__(self, basis: Basis, columns: Tensor, points: Tensor, transform: Transform | None = None):
        self._basis, self._columns, self._points, self._transform = basis, columns, points, transform
        self._known: dict[MultiIndex, Tensor] = {}
        self.by_transform = transform is not None and (
            # the columns, then the transform itself
            _reading(self.rows * basis.size) + 8 * transform.work / _BANDWIDTH["transform"] + _CALL
            < _reading(self.rows * len(points))
        )
        """Whether single states are evaluated by the transform."""
        self._batches_by_transform = (
            transform is not None and self.rows * basis.size + _SLOWER * transform.work < self.rows * len(points)
        )

    def _transform_for(self, rows: Tensor) -> Transform | None:
        """The transform, if rows (..., k) are to be evaluated with it."""
        many = rows.ndim > 1 and rows.numel() >= _BATCH * rows.shape[-1]
        return self._transform if (self._batches_by_transform if many else self.by_transform) else None

    def __call__(self, alpha: MultiIndex) -> Tensor:
        if alpha not in self._known:
            self._known[alpha] = self.made(alpha)
        return self._known[alpha]

    def made(self, alpha: MultiIndex) -> Tensor:
        """The table, made now and not kept."""
        if self._transform is not None:
            return self._transform.synthesise(self._columns.T, alpha)
        if isinstance(self._basis, LocalBasis):  # a table of all its functions is nearly empty, and large
            pieces = [self._basis.evaluate(self._columns.T, p, alpha) for p in self._points.split(_CHUNK)]
        else:
            pieces = [matmul(self._columns.T, tabulate(self._basis, p, alpha)) for p in self._points.split(_CHUNK)]
        return torch.cat(pieces, dim=1)

    def expand(self, z: Tensor) -> Callable[[MultiIndex], Tensor]:
        """α ↦ Σ_k z_k ∂^αf_k at the points, (..., n), for coordinates z (..., k)."""
        transform = self._transform_for(z)
        if transform is None:
            return lambda alpha: matmul(z, self(alpha))
        a = matmul(z, self._columns.T)
        return lambda alpha: transform.synthesise(a, alpha)

    def moments(self, densities: Mapping[MultiIndex, Tensor], by_tables: bool = False) -> Tensor:
        """Σ_α Σ_q g_αq ∂^αf_k(x_q), (..., k), for densities g_α (..., n): integrands times weights. ``by_tables``: with no transform, whose
        rounding errors the columns multiply; matrices of mechanisms then keep symmetries to the last digits."""
        transform = None if by_tables else self._transform_for(next(iter(densities.values())))
        if transform is None:
            parts = [matmul(g, self(alpha).T) for alpha, g in densities.items()]
            return sum(parts[1:], parts[0])
        sums = [transform.adjoint(g, alpha) for alpha, g in densities.items()]
        return matmul(sum(sums[1:], sums[0]), self._columns)

    def rotated(self, Q: Tensor) -> "Tables":
        """Tables of the functions Σ_k Q_kl f_k, reusing what is known unless a transform makes it again in less time."""
        other = Tables(self._basis, matmul(self._columns, Q), self._points, self._transform)
        if self._transform is None:
            other._known = {alpha: matmul(Q.T, table) for alpha, table in self._known.items()}
        return other

    @property
    def rows(self) -> int:
        return self._columns.shape[1]
