"""The stiff linear operator of  M ż = K z + M n(z, t)  on local functions: A = M⁻¹K, never formed.

Implementation of :class:`gleg_core.contracts.integrator.LinearPart`. Resolvents are sparse factorisations of M − gK, kept for the latest g.
φ_k(hA)v comes from the Krylov space of one resolvent (shift and invert, van den Eshof & Hochbruck 2006): it converges independently of the
stiffness, but takes some twenty solutions for each vector, where an implicit step takes one.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from gleg_core.algebra.linear import DensePart, Recent, singular
from gleg_core.algebra.sparse import Factorised, SparseMatrix
from gleg_core.contracts.integrator import Operator
from gleg_core.errors import NumericsError

_NUMBERS_KEPT = 120_000_000
"""Entries of factorisations that are kept."""
_RADIUS_VECTORS, _RADIUS_LACKS = 20, 1.05
"""Vectors of the Krylov space that gives the spectral radius, and what its estimate may lack: half a per cent is usual."""
_SHIFT = 10.0
"""The pole of the Krylov space is at _SHIFT/h."""
_KRYLOV, _CONVERGED = 60, 1e-11
"""Most vectors of a Krylov space, and the relative change at which it is large enough."""


class SparsePart:
    """A = M⁻¹K for rows of states: ``stiffness`` K and ``mass`` M (R, R), both sparse, z ↦ z K M⁻¹; M is factorised already, in diagonal
    blocks. ``varied``: the parts c_i K_i of K in whose coefficients c_i what is computed is differentiable."""

    eigenvalues: Tensor | None = None

    def __init__(
        self,
        stiffness: SparseMatrix,
        mass: SparseMatrix,
        factors: Sequence[Factorised],
        varied: Sequence[tuple[Tensor, SparseMatrix]] = (),
    ):
        self.symmetric = stiffness.is_symmetric()
        self.stiffness, self.mass = stiffness.marked(self.symmetric), mass
        self.size = mass.shape[0]
        self._of_mass, self._varied = factors, varied
        self.kept = int(min(24, max(2, _NUMBERS_KEPT // max(1, sum(own.numbers for own in factors)))))
        """Factorisations that are kept, and prepared steps that hold one."""
        self._factors: Recent[float, Factorised] = Recent(self.kept)

    def with_stiffness(self, stiffness: SparseMatrix) -> "SparsePart":
        return SparsePart(stiffness, self.mass, self._of_mass, self._varied)

    def riesz(self, moments: Tensor) -> Tensor:
        """moments M⁻¹."""
        if len(self._of_mass) == 1:
            return self._of_mass[0].solve(moments)
        parts = moments.split([own.size for own in self._of_mass], dim=-1)
        return torch.cat([own.solve(part) for own, part in zip(self._of_mass, parts, strict=True)], dim=-1)

    def apply(self, z: Tensor) -> Tensor:
        return self.riesz(self.stiff(z))

    def stiff(self, z: Tensor) -> Tensor:
        """z K."""
        return self._with_slopes(z @ self.stiffness, z, 1.0)

    def solution(self, g: float) -> Operator:
        """f ↦ f (M − gK)⁻¹."""
        factors = self._factors.get(g, lambda: self._factorise(g))
        if not self._varied:
            return factors.solve

        def solve(f: Tensor) -> Tensor:
            x = factors.solved(f, True)
            return factors.solve(self._with_slopes(f, x, g), x)  # dx = (df + g dc_i x K_i)(M − gK)⁻¹

        return solve

    def _with_slopes(self, f: Tensor, z: Tensor, g: float) -> Tensor:
        """f + g Σ_i (c_i − c_i) z K_i: the value of f, with the derivatives of the coefficients."""
        for c, K in self._varied:
            f = f + g * (c - c.detach()) * (z @ K)
        return f

    def resolvent(self, g: float) -> Operator:
        solve = self.solution(g)
        return lambda z: solve(z @ self.mass)

    def _factorise(self, g: float) -> Factorised:
        try:
            return Factorised(self.mass - g * self.stiffness, self.symmetric)
        except np.linalg.LinAlgError:
            raise NumericsError(singular(g)) from None

    def phi(self, k: int, h: float) -> Operator:
        solve = self.resolvent(h / _SHIFT)

        def function(z: Tensor) -> Tensor:
            if torch.is_grad_enabled() and z.requires_grad:
                raise NumericsError(
                    "exponential integrators have no gradients with functions on cells: use an implicit one"
                ).at("time", "integrator")
            rows = [self._krylov(k, h, row, solve) for row in z.reshape(-1, self.size)]
            return torch.stack(rows).reshape(z.shape) if rows else z

        return function

    def _krylov(self, k: int, h: float, v: Tensor, solve: Operator) -> Tensor:
        """φ_k(hA)v ≈ β V φ_k(hA_m)e₁ in the span of v, Rv, R²v, …, R = (I − γA)⁻¹, γ = h/_SHIFT; A_m = (I − H⁻¹)/γ, H = VᵀMRV."""
        size = float(((v @ self.mass) * v).sum().clamp(min=0.0).sqrt())
        if size == 0.0:
            return torch.zeros_like(v)
        before: Tensor | None = None
        for V, H, exhausted in self._arnoldi(solve, v / size, _KRYLOV):
            m = len(V)
            if m % 3 == 0 or exhausted or m == _KRYLOV:
                first = torch.eye(m, dtype=v.dtype)[0]
                A = (torch.eye(m, dtype=v.dtype) - torch.linalg.inv(H)) * (_SHIFT / h)
                now = DensePart(A).phi(k, h)(first)
                change = now.clone()
                if before is not None:
                    change[: len(before)] -= before
                if exhausted or (
                    before is not None and float(change.norm()) <= _CONVERGED * max(float(now.norm()), 1e-3)
                ):
                    return size * (now @ V)
                before = now
        raise NumericsError(
            f"φ_{k}(hA) did not converge at step h = {h:g}: use a smaller step, or an implicit integrator"
        ).at("time")

    def _arnoldi(self, operator: Operator, v: Tensor, most: int) -> Iterator[tuple[Tensor, Tensor, bool]]:
        """Growing orthonormal bases V (m, R), VᵀMV = I, of the span of v, Rv, R²v, … for an operator R, H = VᵀMRV (m, m), and whether the
        space contains its image."""
        V, MV = (torch.zeros(most + 1, self.size, dtype=v.dtype) for _ in range(2))
        V[0], MV[0] = v, v @ self.mass
        H = torch.zeros(most + 1, most, dtype=v.dtype)
        for m in range(1, most + 1):
            w = operator(V[m - 1])
            for _ in range(2):  # once more against rounding
                products = MV[:m] @ w
                H[:m, m - 1] += products
                w = w - products @ V[:m]
            Mw = w @ self.mass
            H[m, m - 1] = (Mw * w).sum().clamp(min=0.0).sqrt()
            exhausted = float(H[m, m - 1]) <= 1e-13 * float(H[:m, m - 1].norm())
            yield V[:m], H[:m, :m], exhausted
            if exhausted:
                return
            V[m], MV[m] = w / H[m, m - 1], Mw / H[m, m - 1]

    @cached_property
    def radius(self) -> float:
        """The largest modulus of the Ritz values of a small Krylov space of A, a little more."""
        z = torch.randn(self.size, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
        *_, (_, H, _) = self._arnoldi(self.apply, z / ((z @ self.mass) * z).sum().sqrt(), _RADIUS_VECTORS)
        return _RADIUS_LACKS * float(torch.linalg.eigvals(H).abs().max())
