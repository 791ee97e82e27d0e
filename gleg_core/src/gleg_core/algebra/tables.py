"""Tables of functions at points: what every matrix of the method is made of."""

from __future__ import annotations

import torch
from torch import Tensor

from gleg_core.contracts.basis import Basis
from gleg_core.contracts.jet import MultiIndex

_CHUNK = 2048
"""Points per piece: keeps the ambient table (M × piece) small beside the reduced one."""


def tabulate(basis: Basis, points: Tensor, alpha: MultiIndex) -> Tensor:
    """∂^αφ_j at the points, (M, n)."""
    return basis.tabulate(points, [alpha])[alpha]


class Tables:
    """∂^α of the functions Σ_j X_jk φ_j at fixed points, (k, n) each, computed when first asked for."""

    def __init__(self, basis: Basis, columns: Tensor, points: Tensor):
        self._basis, self._columns, self._points = basis, columns, points
        self._known: dict[MultiIndex, Tensor] = {}

    def __call__(self, alpha: MultiIndex) -> Tensor:
        if alpha not in self._known:
            pieces = [self._columns.T @ tabulate(self._basis, p, alpha) for p in self._points.split(_CHUNK)]
            self._known[alpha] = torch.cat(pieces, dim=1)
        return self._known[alpha]

    def rotated(self, Q: Tensor) -> Tables:
        """Tables of the functions Σ_k Q_kl f_k, reusing what is known."""
        other = Tables(self._basis, self._columns @ Q, self._points)
        other._known = {alpha: Q.T @ table for alpha, table in self._known.items()}
        return other

    def to(self, device: torch.device) -> Tables:
        other = Tables(self._basis, self._columns.to(device), self._points.to(device))
        other._known = {alpha: table.to(device) for alpha, table in self._known.items()}
        return other

    @property
    def rows(self) -> int:
        return self._columns.shape[1]
