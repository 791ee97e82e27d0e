"""Fields of a run as coefficients a = a_bc(t) + N z, and back."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from gleg_core.algebra.space import AdmissibleSpace
from gleg_core.algebra.tables import Tables
from gleg_core.contracts.basis import Basis
from gleg_core.run import Run
from gleg_core.system.discrete_field import DiscreteField


def coefficients(run: Run, name: str, frames: Sequence[int] | None = None) -> Tensor:
    """Ambient coefficients (F, M) of a field at saved times, all of them by default."""
    t = run.trajectory
    chosen = range(len(t.times)) if frames is None else frames
    system = run.discretisation.system
    return torch.stack([system.coefficients(name, t.states[i], t.times[i]) for i in chosen])


def state_of(field: DiscreteField, a: Tensor, theta: Tensor | None) -> Tensor:
    """z of the function with boundary data θ that is closest in L²(Ω) to coefficients a (..., M): shape (..., r)."""
    if not isinstance(field.space, AdmissibleSpace):
        own = a - field.ambient_coefficients(torch.zeros(field.r, dtype=a.dtype), theta)
        values = field.space.rules.inside.expand(own)((0,) * field.space.basis.dim)
        return field.space.riesz(field.project_values(values))
    z = field.space.coordinates(a)
    return z if theta is None or field.lift_mass is None else z - theta @ field.lift_mass


def synthesis(basis: Basis, a: Tensor, x: Tensor) -> Tensor:
    """u_a at points for coefficients (F, M), shape (F, n); no table over all points is formed."""
    return Tables(basis, a.T, x)((0,) * basis.dim)


def column(times: Sequence[float]) -> Tensor:
    """(F,) → (F, 1)."""
    return torch.tensor(times, dtype=torch.float64)[:, None]


def evenly(count: int, most: int) -> list[int]:
    """Indices below ``count``: all of them, or ``most`` spread evenly, first and last included."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int)).tolist()
