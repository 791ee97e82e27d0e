"""The smoothest part of an admissible space."""

from collections.abc import Callable

import torch
from torch import Tensor

from gleg_core.contracts.jet import MultiIndex, unit
from gleg_core.system.discrete_field import DiscreteField


def smoothest_first(field: DiscreteField, count: int) -> DiscreteField:
    """The field in the ``count`` functions of its space with the smallest ∫|∇φ|², smoothest first.

    The lift moves, too: within the whole space to where ∫|∇ lift|² is least. What smooth solutions have beyond the lift is then
    smooth, and few functions suffice; the lift of the whole space would leave to those cut off what it lacks itself.
    """
    energies, Q = torch.linalg.eigh(gradient_products(field, field.interior.functions))
    if field.interior.lift is not None:
        cross = gradient_products(field, field.interior.lift)
        # constants, up to rounding, make no lift smoother
        inverse = torch.where(energies > 1e-12 * energies[-1], 1 / energies, torch.zeros_like(energies))
        field = field.with_lift_moved(-(cross @ Q * inverse) @ Q.T)
    return field.rotated(Q[:, :count])


def gradient_products(field: DiscreteField, functions: Callable[[MultiIndex], Tensor]) -> Tensor:
    """∫ ∇f_i · ∇φ_j, (k, r), for functions f at the nodes and those of the space."""
    dim, phi = field.space.basis.dim, field.interior.functions
    axes = [unit(dim, i) for i in range(dim)]
    return torch.stack([(functions(axis) * field.space.weights) @ phi(axis).T for axis in axes]).sum(dim=0)
