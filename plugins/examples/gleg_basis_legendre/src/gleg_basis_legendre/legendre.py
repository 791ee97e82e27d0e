"""The Legendre basis of total degree.

On Q = {centre + R(h ∘ ξ) : ξ ∈ [−1, 1]^d} the trial space is all polynomials of total degree ≤ p, spanned by

    φ_i(x) = p_{i₁}(ξ₁) … p_{i_d}(ξ_d),    i₁ + … + i_d ≤ p,    p_n = √(2n+1) P_n,

P_n the Legendre polynomials. The functions are orthonormal in the mean ⟨u, v⟩ = |Q|⁻¹ ∫_Q u v.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import reduce

import numpy as np
import torch
from torch import Tensor

from gleg_basis_fourier.lines import Products, on_lines
from gleg_basis_legendre.params import LegendreParams
from gleg_basis_legendre.products import GridProducts
from gleg_core.contracts.basis import Basis, Site, as_points
from gleg_core.contracts.jet import MultiIndex
from gleg_core.contracts.transform import Transform
from gleg_core.errors import SpecError

_TO_THE_EDGE = 1.25
"""P_p(ξ) ~ cos((p + ½) arccos ξ) oscillates with wavenumber p/√(1 − ξ²): p in the middle, more towards the edge of Q. A rule for
waves of 2p/h integrates products of degree 2p on lines through Q, but not on short lines close to its edge. Measured for degree 30
as the largest error of the products of admissible functions, ‖NᵀM_ΩN − I‖ with M_Ω by a rule more than twice as fine: with the factors
1, 1.25, 1.5 it is 1e-8, 2e-10, 1e-10 on the rosette, 8e-7, 2e-8, 8e-10 on the crescent, 3e-8, 1e-9, 3e-10 on a triangle,
2e-10 for all three on a disk; rounding gives 1e-10. The boundary rank on these no longer changes from 1 on. Thin bars along
the edge of Q need more (a T of bars of a tenth of Q: 4e-4, 5e-6, 4e-8): ``space.oversampling`` and ``space.boundary_samples``."""


_FEW = 16
"""Fields evaluated without a table; for many of them one table serves all."""


def degrees(p: int, dim: int) -> np.ndarray:
    """Multi-indices i ≥ 0 with i₁ + … + i_d ≤ p, by rising total degree, shape (M, d)."""
    i = np.stack([a.ravel() for a in np.meshgrid(*[np.arange(p + 1)] * dim, indexing="ij")], axis=1)
    i = i[i.sum(axis=1) <= p]
    return i[np.lexsort((*i.T[::-1], i.sum(axis=1)))]


def legendre_tables(p: int, order: int, xi: Tensor) -> list[Tensor]:
    """p_n^{(k)}(ξ) for k = 0 … order, each of shape (p+1, n).

    (n+1) P_{n+1}^{(k)} = (2n+1) (ξ P_n^{(k)} + k P_n^{(k−1)}) − n P_{n−1}^{(k)},  the k-th derivative of Bonnet's recurrence.
    """
    norm = torch.sqrt(2 * torch.arange(p + 1, dtype=xi.dtype, device=xi.device) + 1)[:, None]
    tables: list[Tensor] = []
    lower = [torch.zeros_like(xi)] * (p + 1)
    for k in range(order + 1):
        P = [torch.ones_like(xi) if k == 0 else torch.zeros_like(xi)]
        before = torch.zeros_like(xi)
        for n in range(p):
            a, b = (2 * n + 1) / (n + 1), n / (n + 1)
            following = torch.sub(a * xi * P[n], before, alpha=b)
            P.append(torch.add(following, lower[n], alpha=a * k) if k else following)
            before = P[n]
        tables.append(norm * torch.stack(P))
        lower = P
    return tables


class LegendreBasis(Basis):
    """Order of the functions: by rising total degree.

    ``bandwidth`` is that of P_p in the middle of the shortest side of Q, p/h, times ``_TO_THE_EDGE``.
    """

    periodic = False
    isotropic = False

    def __init__(self, params: LegendreParams, site: Site):
        if params.degree == "auto":
            raise SpecError("degree: auto is resolved by gleg run and gleg.solve; write a number here")
        self.degree = params.degree
        self.frame = frame = site.frame
        self.i = degrees(self.degree, frame.dim)
        self.size = len(self.i)
        self._gradient = frame.rotation / frame.half_widths  # ∂ξ_c/∂x_a at [a, c]
        self.bandwidth = _TO_THE_EDGE * self.degree / float(frame.half_widths.min())

    def tabulate(self, points: Tensor, derivatives: Iterable[MultiIndex]) -> dict[MultiIndex, Tensor]:
        wanted = {alpha: self._in_reference(alpha) for alpha in derivatives}
        orders = [max((beta[c] for terms in wanted.values() for beta in terms), default=0) for c in range(self.dim)]
        centre, gradient = (as_points(a, points.device) for a in (self.frame.centre, self._gradient))
        xi = (points - centre) @ gradient
        tables = [legendre_tables(self.degree, k, xi[:, c]) for c, k in enumerate(orders)]
        i = torch.from_numpy(self.i.T).to(points.device)

        def product(beta: MultiIndex) -> Tensor:
            """Π_c p_{i_c}^{(β_c)}(ξ_c), shape (M, n)."""
            return reduce(torch.mul, (tables[c][k][i[c]] for c, k in enumerate(beta)))

        return {
            alpha: reduce(torch.add, (factor * product(beta) for beta, factor in terms.items()))
            for alpha, terms in wanted.items()
        }

    def transform(self, points: Tensor) -> Transform | None:
        """φ_i is one product; derivatives are along ξ if the box is not turned."""
        if self.dim != 2 or not np.allclose(self.frame.rotation, np.eye(2)):
            return None
        centre, h = (as_points(a) for a in (self.frame.centre, self.frame.half_widths))
        i, p = torch.from_numpy(self.i), self.degree + 1
        products = Products(
            function=torch.arange(self.size),
            first=i[:, 0],
            second=i[:, 1],
            sign=torch.ones(self.size, dtype=torch.float64),
            sizes=(self.size, p, p),
            tables=lambda axis, xi, order: legendre_tables(self.degree, order, xi)[order] / h[axis] ** order,
        )
        return on_lines(products, (points - centre) / h)

    def evaluate(self, coefficients: Tensor, points: Tensor, derivative: MultiIndex | None = None) -> Tensor:
        """Σ_i a_i p_{i₁}(ξ₁) p_{i₂}(ξ₂) in the plane, one coordinate after the other: no table of M functions."""
        rows = coefficients.reshape(math.prod(coefficients.shape[:-1]), self.size)
        if self.dim != 2 or not 0 < len(rows) <= _FEW:
            return super().evaluate(coefficients, points, derivative)
        terms = self._in_reference(derivative or (0, 0))
        p, i = self.degree + 1, torch.from_numpy(self.i)
        grid = rows.new_zeros(len(rows), p * p).index_copy(1, i[:, 0] * p + i[:, 1], rows).reshape(len(rows), p, p)
        centre, gradient = (as_points(a, points.device) for a in (self.frame.centre, self._gradient))
        xi = (points - centre) @ gradient
        first, second = (
            legendre_tables(self.degree, max(beta[c] for beta in terms), xi[:, c]) for c in range(self.dim)
        )
        values = sum(f * ((grid @ second[b]) * first[a]).sum(dim=1) for (a, b), f in terms.items())
        return torch.as_tensor(values).reshape(*coefficients.shape[:-1], len(points))

    def products(self, points: Tensor, weights: Tensor) -> GridProducts | None:
        if self.dim != 2:
            return None
        xi = as_points(self.frame.to_reference(points.numpy()))
        return GridProducts(torch.from_numpy(self.i), self.degree, xi, weights, legendre_tables, self._in_reference)

    def _in_reference(self, alpha: MultiIndex) -> dict[MultiIndex, float]:
        """{β: c_β} with ∂^α = Σ_β c_β ∂_ξ^β, the product of |α| factors ∂_{x_a} = Σ_c (R_ac / h_c) ∂_{ξ_c}."""
        terms = {(0,) * self.dim: 1.0}
        for axis in (a for a, k in enumerate(alpha) for _ in range(k)):
            product: dict[MultiIndex, float] = defaultdict(float)
            for c in np.flatnonzero(self._gradient[axis]):
                for beta, factor in terms.items():
                    product[(*beta[:c], beta[c] + 1, *beta[c + 1 :])] += factor * float(self._gradient[axis, c])
            terms = product
        return terms

    def project(self, function: Callable[[Tensor], Tensor]) -> Tensor:
        """⟨f, φ_i⟩ by Gauss–Legendre rules of n = 2p + 2 points per axis, exact for f of degree up to 3p + 3."""
        nodes, weights = np.polynomial.legendre.leggauss(2 * self.degree + 2)
        grid = np.stack([a.ravel() for a in np.meshgrid(*[nodes] * self.dim, indexing="ij")], axis=1)
        values = function(as_points(self.frame.to_physical(grid)))
        values = values.reshape(*values.shape[:-1], *[len(nodes)] * self.dim)
        against = (legendre_tables(self.degree, 0, as_points(nodes))[0] * as_points(weights / 2)).T
        for _ in range(self.dim):  # each pass sums over the first node axis and appends the axis of its degrees
            values = torch.tensordot(values, against, dims=([-self.dim], [0]))
        return values[(..., *torch.from_numpy(self.i).T)]
