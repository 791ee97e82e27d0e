"""Several fields with the same modes: A couples the F coordinates of each mode and no two modes.

Waves, u_t = v, v_t = c²Δu, and Schrödinger's equation, u_t = −Δv, v_t = Δu, are of this kind. Functions of A are functions of small
matrices, one for each mode, whatever the step: implementation of :class:`gleg_core.contracts.integrator.LinearPart`.
"""

from collections.abc import Callable
from functools import cached_property

import torch
from torch import Tensor

from gleg_core.algebra.linear import Recent, check_phi, finite, singular
from gleg_core.contracts.integrator import Operator
from gleg_core.errors import NumericsError

_KEPT = 16
"""Functions that are kept."""
_SWEEPS = 4
"""Times that every coordinate is scaled."""


class ModalPart:
    """ż_m = B_m z_m for every mode m, ``blocks`` (r, F, F); states (..., F·r) hold the fields one after another."""

    eigenvalues: Tensor | None = None

    def __init__(self, blocks: Tensor) -> None:
        self.blocks = blocks
        self.modes, self.fields = blocks.shape[:2]
        self.size = self.modes * self.fields
        self._phis: Recent[tuple[int, float], Tensor] = Recent(_KEPT)

    @cached_property
    def rates(self) -> Tensor:
        """The eigenvalues of all blocks, (r, F), complex."""
        return torch.linalg.eigvals(self.blocks)

    @property
    def radius(self) -> float:
        return float(self.rates.abs().max()) if self.size else 0.0

    def apply(self, z: Tensor) -> Tensor:
        return self._operator(self.blocks)(z)

    def phi(self, k: int, h: float) -> Operator:
        check_phi(k)

        def make() -> Tensor:
            blocks, scale = self._balanced
            return finite(scale[:, :, None] * _phi(k, h * blocks) / scale[:, None, :], k, h)

        return self._operator(self._phis.get((k, h), make))

    @cached_property
    def _balanced(self) -> tuple[Tensor, Tensor]:
        """D⁻¹BD and D (r, F) with rows and columns of equal size: u and v of a wave differ by its frequency, and squaring would square that
        (Osborne 1960)."""
        blocks, scale = self.blocks.clone(), torch.ones(self.modes, self.fields, dtype=self.blocks.dtype)
        beside = 1.0 - torch.eye(self.fields, dtype=self.blocks.dtype)
        for _ in range(_SWEEPS):
            for i in range(self.fields):
                row, column = ((blocks * beside).abs().sum(dim=d)[:, i] for d in (2, 1))
                both = (row > 0) & (column > 0)
                factor = torch.where(both, (row / column.clamp(min=1e-300)).sqrt(), 1.0)
                blocks[:, :, i] *= factor[:, None]
                blocks[:, i, :] /= factor[:, None]
                scale[:, i] *= factor
        return blocks, scale

    def resolvent(self, g: float) -> Operator:
        inverse, info = torch.linalg.inv_ex(torch.eye(self.fields, dtype=self.blocks.dtype) - g * self.blocks)
        if bool(info.any()) or not bool(torch.isfinite(inverse).all()):
            raise NumericsError(singular(g))
        return self._operator(inverse)

    solution = resolvent

    def _operator(self, blocks: Tensor) -> Callable[[Tensor], Tensor]:
        def act(z: Tensor) -> Tensor:
            parts = z.unflatten(-1, (self.fields, self.modes))
            return torch.einsum("mij,...jm->...im", blocks, parts).flatten(-2)

        return act


def _phi(k: int, w: Tensor) -> Tensor:
    """φ_k of every matrix w (r, F, F): the corner of the exponential of w bordered by a shift (Saad 1992)."""
    if k == 0:
        return torch.linalg.matrix_exp(w)
    r, F = w.shape[:2]
    bordered = torch.zeros(r, (k + 1) * F, (k + 1) * F, dtype=w.dtype)
    bordered[:, :F, :F] = w
    shift = torch.arange(k * F)
    bordered[:, shift, shift + F] = 1.0
    return torch.linalg.matrix_exp(bordered)[:, :F, k * F :]
