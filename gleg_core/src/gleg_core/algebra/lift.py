"""The lift a_bc(t): a function that satisfies the boundary data, as a few columns times functions of time."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gleg_core.algebra.local_space import LocalSpace
from gleg_core.algebra.space import AdmissibleSpace
from gleg_core.errors import NumericsError
from gleg_core.matmul import matmul

_FEW, _MANY = 33, 4097
"""Times at which moving data are looked at first, and about as many at most."""
_LEFT = 1e-10
"""Part of moving data that a few functions of place may leave."""
_MISSED = 1e-6
"""Part of the largest data that they may leave at a time of the run."""


Stretches = Sequence[tuple[float, float]]
"""Intervals of time in which data do not jump, one after another."""


@dataclass(frozen=True)
class Lift:
    """a_bc(t) = columns · θ(t), θ(t) = to_theta · d(t) for moving data, θ = 1 with one column for data fixed in time.

    ``columns`` (M, k); ``to_theta`` (k, N_b); ``to_data`` (k, N_b) turns θ back into boundary data, d = θ @ to_data; ``orthogonal`` says
    that the columns have no part in range(N), so that ȧ_bc does not enter the reduced equation; ``size`` is the largest ‖d(t)‖ that has
    been seen, for moving data on a local basis.
    """

    columns: Tensor
    to_theta: Tensor
    to_data: Tensor
    moving: bool
    orthogonal: bool
    size: float = 0.0

    @classmethod
    def of(cls, space: AdmissibleSpace, start: float, mass_minimal: bool) -> "Lift | None":
        """The minimum-norm lift C⁺d, None for zero data. ``mass_minimal`` subtracts its part in range(N) (and only there: minimising
        over all of ker C would alter the components that the mass cut discards)."""
        boundary, factors = space.boundary, space.range
        if boundary.homogeneous:
            return None
        columns, to_theta, to_data = factors.V, factors.to_theta, factors.to_data
        if not boundary.moving:
            data = boundary.data(start)
            columns, to_data = factors.V @ (factors.to_theta @ data)[:, None], data[None]
        if mass_minimal:
            columns = columns - matmul(space.N, space.coordinates(columns.T).T)
        return cls(columns, to_theta, to_data, boundary.moving, mass_minimal)

    @classmethod
    def local(cls, space: LocalSpace, stretches: Stretches) -> "Lift | None":
        """On a local basis: the functions that touch conditions on values carry the projection of the data, all others are zero. Data that
        move are a few functions of place with functions of time as factors, d(t) = Uθ(t), θ = Uᵀd: those of the largest singular values."""
        boundary = space.boundary
        if boundary.homogeneous:
            return None
        if not boundary.moving:
            to_data, size = boundary.data(stretches[0][0])[None], 0.0
            to_theta = torch.zeros_like(to_data)
        else:
            to_theta, to_data, size = _separated(boundary.data, _scale(space, stretches), stretches)
        return cls(space.extension(to_data).T.contiguous(), to_theta, to_data, boundary.moving, False, size)


def _scale(space: LocalSpace, stretches: Stretches) -> Tensor:
    """Factors (N_b,) that make values and slopes, and nodes with large and small weights, comparable."""
    boundary = space.boundary
    data = boundary.data(_times(stretches, _each(stretches)).reshape(-1, 1))
    scale = torch.ones(boundary.size, dtype=torch.float64)
    for condition, rows in zip(boundary.conditions, boundary.row_spans, strict=True):
        w = boundary.points.weights[boundary.points.spans[condition.segment]]
        for span in rows:
            size = float(((data[:, span] ** 2 * w).sum(dim=1) / w.sum()).sqrt().max())
            scale[span] = (w / w.sum()).sqrt() / (size or 1.0)
    return scale


def _separated(data: Callable[[Tensor], Tensor], scale: Tensor, stretches: Stretches) -> tuple[Tensor, Tensor, float]:
    """(Uᵀ with the scale, the same without, the largest ‖d‖): looked at twice as many times until what is new lies in what is known."""
    each, many = _each(stretches), max(_MANY, 8 * _each(stretches) * len(stretches))
    seen = data(_times(stretches, each).reshape(-1, 1)) * scale
    while True:
        _, sigma, Ut = np.linalg.svd(seen.numpy(), full_matrices=False)
        kept = torch.from_numpy(np.ascontiguousarray(Ut[: max(1, int((sigma > _LEFT * sigma[0]).sum()))]))
        each = 2 * each - 1
        new = data(_times(stretches, each)[:, 1::2].reshape(-1, 1)) * scale
        missed = float((new - (new @ kept.T) @ kept).norm(dim=1).max())
        if missed <= 10 * _LEFT * math.sqrt(len(seen)) * float(sigma[0]):
            return kept * scale, kept / scale, float((torch.cat([seen, new]) / scale).norm(dim=1).max())
        if each * len(stretches) >= many:
            raise NumericsError(
                f"the boundary data change faster than {each * len(stretches):,} times of the run show: shorten the run, or smooth the data"
            ).at("fields")
        seen = torch.cat([seen, new])


def _each(stretches: Stretches) -> int:
    """How many times of every stretch are looked at first: an odd number."""
    return 1 + 2 * math.ceil((_FEW - 1) / (2 * len(stretches)))


def _times(stretches: Stretches, each: int) -> Tensor:
    """Times (stretches, each), the ends of all stretches included."""
    return torch.stack([torch.linspace(a, b, each, dtype=torch.float64) for a, b in stretches])


def check_represented(lift: Lift, data: Tensor, theta: Tensor) -> None:
    """Refuse data at a time of the run that the lift's functions of place do not contain: a pulse that no time above has seen."""
    left, largest = float((data - theta @ lift.to_data).norm()), max(float(data.norm()), lift.size)
    if left > _MISSED * largest:
        raise NumericsError(
            f"boundary data of this run have a part ({left / largest:.1g} of them) that appears for a very short time only: "
            "shorten the run, or smooth the data"
        ).at("fields")
