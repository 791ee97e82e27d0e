"""The smoothest part of an admissible space."""

from __future__ import annotations

import torch

from gleg_core.contracts.jet import unit
from gleg_core.system.discrete_field import DiscreteField

_FLAT = 1e-12
"""Functions whose ∫|∇φ|² is below this fraction of the largest are constants: no lift is made smoother by them."""


def smoothest_first(field: DiscreteField, count: int) -> DiscreteField:
    """The field in the ``count`` functions of its space with the smallest ∫|∇φ|², smoothest first.

    The lift moves, too: within the whole space to where ∫|∇ lift|² is least. What smooth solutions have beyond the lift is then
    smooth, and few functions suffice; the lift of the whole space would leave to those cut off what it lacks itself.
    """
    dim, w = field.space.basis.dim, field.space.weights
    form = torch.zeros(field.r, field.r, dtype=torch.float64)
    cross = torch.zeros(0 if field.lift is None else field.lift.columns.shape[1], field.r, dtype=torch.float64)
    for axis in range(dim):
        slope = field.interior.functions(unit(dim, axis))
        form += (slope * w) @ slope.T
        if field.interior.lift is not None:
            cross += (field.interior.lift(unit(dim, axis)) * w) @ slope.T
    energies, Q = torch.linalg.eigh(form)
    if field.lift is not None:
        inverse = torch.where(energies > _FLAT * energies[-1], 1 / energies, torch.zeros_like(energies))
        field = field.with_lift_moved(-(cross @ Q * inverse) @ Q.T)
    return field.rotated(Q[:, :count])
