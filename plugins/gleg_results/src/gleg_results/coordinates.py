"""Fields of a run as coefficients a = a_bc(t) + N z, and back."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from gleg_core.algebra.tables import Tables
from gleg_core.contracts.basis import Basis
from gleg_core.run import Run


def coefficients(run: Run, name: str, frames: Sequence[int] | None = None) -> Tensor:
    """Ambient coefficients (F, M) of a field at saved times, all of them by default."""
    t = run.trajectory
    chosen = range(len(t.times)) if frames is None else frames
    system = run.discretisation.system
    return torch.stack([system.coefficients(name, t.states[i], t.times[i]) for i in chosen])


def synthesis(basis: Basis, a: Tensor, x: Tensor) -> Tensor:
    """u_a at points for coefficients (F, M), shape (F, n); no table over all points is formed."""
    return Tables(basis, a.T, x)((0,) * basis.dim)


def column(times: Sequence[float]) -> Tensor:
    """(F,) → (F, 1)."""
    return torch.tensor(times, dtype=torch.float64)[:, None]


def evenly(count: int, most: int) -> list[int]:
    """Indices below ``count``: all of them, or ``most`` spread evenly, first and last included."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int)).tolist()
