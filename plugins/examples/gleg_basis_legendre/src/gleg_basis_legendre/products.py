"""Integrals of products of Legendre functions in the plane, from the moments of the weights alone.

Products of two functions of degree ≤ p have degree ≤ 2p, so a rule of any points acts on them through its moments

    μ_mn = Σ_q w_q p_m(ξ_q) p_n(η_q),   m, n ≤ 2p,

and so does the rule with the same moments on the grid of Gauss points g_1 … g_{2p+1} of both axes, whose weights are

    ŵ_ab = γ_a γ_b Σ_mn μ_mn p_m(g_a) p_n(g_b),   γ the Gauss weights of the mean.

On a grid the sums over the two axes are done one after the other.
"""

from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor

from gleg_core.contracts.basis import as_points
from gleg_core.contracts.jet import MultiIndex

Tabulate = Callable[[int, int, Tensor], list[Tensor]]
"""(p, order, ξ) ↦ p_n^{(k)}(ξ) for k = 0 … order, each (p + 1, n)."""


class GridProducts:
    """(α, β) ↦ Σ_q w_q ∂^αφ_i ∂^βφ_j, (M, M), for the functions of total degree ≤ p with degrees ``i`` (M, 2).

    ``in_reference`` writes ∂^α as Σ_β c_β ∂_ξ^β, {β: c_β}.
    """

    def __init__(
        self,
        i: Tensor,
        p: int,
        xi: Tensor,
        weights: Tensor,
        tabulate: Tabulate,
        in_reference: Callable[[MultiIndex], Mapping[MultiIndex, float]],
    ):
        self._p, self._tabulate, self._in_reference = p, tabulate, in_reference
        first, second = (tabulate(2 * p, 0, xi[:, c])[0] for c in (0, 1))
        moments = (first * weights) @ second.T
        gauss = as_points(np.polynomial.legendre.leggauss(2 * p + 1)[0])
        table = tabulate(2 * p, 0, gauss)[0]
        table = table / (table * table).sum(dim=0)  # γ_a = 1/Σ_m p_m(g_a)²: numpy's weights have errors of 1e-12
        self._grid, self._gauss = table.T @ moments @ table, gauss  # ŵ
        self._pairs = [i[:, c, None] * (p + 1) + i[:, c] for c in (0, 1)]

    def __call__(self, alpha: MultiIndex, beta: MultiIndex) -> Tensor:
        total = torch.zeros(self._pairs[0].shape, dtype=torch.float64)
        for a, factor in self._in_reference(alpha).items():
            for b, other in self._in_reference(beta).items():
                total += factor * other * self._along_axes(a, b)
        return total

    def _along_axes(self, a: MultiIndex, b: MultiIndex) -> Tensor:
        """The same for derivatives in ξ."""
        tables = self._tabulate(self._p, max(*a, *b), self._gauss)
        first, second = ((tables[a[c]][:, None] * tables[b[c]]).reshape(-1, len(self._gauss)) for c in (0, 1))
        both = first @ self._grid @ second.T  # pairs of degrees along ξ × pairs along η
        return both.reshape(-1)[self._pairs[0] * len(both) + self._pairs[1]]
