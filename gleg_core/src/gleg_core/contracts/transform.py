"""Fast evaluation of an ambient basis at fixed points: what a :class:`gleg_core.contracts.basis.Basis` may offer instead of a table."""

from collections.abc import Callable
from typing import Protocol

from torch import Tensor

from gleg_core.contracts.jet import MultiIndex

IntegratedProducts = Callable[[MultiIndex, MultiIndex], Tensor]
"""(α, β) ↦ Σ_q w_q ∂^αφ_i(x_q) ∂^βφ_j(x_q), shape (M, M), for fixed points x_q and weights w_q of any sign."""


class Transform(Protocol):
    """Synthesis at fixed points and its adjoint, both linear and differentiable."""

    work: float
    """Multiply–adds per row of coefficients and derivative."""

    def synthesise(self, coefficients: Tensor, alpha: MultiIndex) -> Tensor:
        """∂^αu_a at the points: (..., M) → (..., n)."""

    def adjoint(self, values: Tensor, alpha: MultiIndex) -> Tensor:
        """Σ_q f_q ∂^αφ_j(x_q): (..., n) → (..., M)."""
