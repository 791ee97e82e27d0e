"""What the cells of a local basis leave of a solution."""

import math
from dataclasses import dataclass

import numpy as np
import torch

from gleg_accuracy.comparison import coefficients, later_times
from gleg_accuracy.fluxes import flux_errors
from gleg_core.algebra.space import AdmissibleSpace
from gleg_core.algebra.sparse import SparseMatrix
from gleg_core.algebra.sparse_linear import SparsePart
from gleg_core.contracts.local_basis import LocalBasis
from gleg_core.estimate import ErrorMap, Part
from gleg_core.run import Run

_FADING = 3.0
"""Power of time with which what was lost at the start fades."""
_SMALLER = "smaller elements do better; state an accuracy and leave their keys out"


@dataclass(frozen=True)
class SpaceError:
    """What the basis of a run leaves: on every cell (E,), the largest over saved times after the start and over fields, relative to the
    largest norm of a field over time; of a run that failed, relative to the norm at each of the times."""

    cells: np.ndarray
    middles: np.ndarray
    """Of the cells, (E, dim)."""
    shares: np.ndarray
    """Parts of Ω that the cells are, (E,)."""
    times: np.ndarray
    history: np.ndarray
    """What all cells leave at these times, of the worst field."""

    @property
    def total(self) -> float:
        return float(np.linalg.norm(self.cells))

    @property
    def part(self) -> Part:
        """The same for the run's estimate."""
        place = tuple(map(float, self.middles[int(np.argmax(self.cells))]))
        where = ErrorMap(self.middles, self.cells / np.sqrt(self.shares), self.times, self.history)
        return Part("space", self.total, "the solution", _SMALLER, place, map=where)


def space_error(run: Run) -> SpaceError | None:
    """An estimate of the error in space of a run on a local basis; None if its basis cannot tell."""
    basis, found, times = run.discretisation.basis, [], later_times(run)
    fields = run.discretisation.system.fields
    if not isinstance(basis, LocalBasis) or any(isinstance(f.space, AdmissibleSpace) for f in fields.values()):
        return None  # what a few functions leave does not show on the cells
    for name, field in fields.items():
        a = coefficients(run, name, times)
        if (errors := basis.errors(a)) is None:
            return None
        values = field.local.rules.inside.expand(a)((0,) * basis.dim)
        sizes = (values**2 @ field.space.weights).sqrt().clamp(min=1e-300)
        if run.trajectory.failure is None:  # what grows without bound would hide what came before
            sizes = sizes.max()
        left = ((errors + torch.from_numpy(_remembered(run, name))) / sizes[..., None]).numpy()
        if (fluxes := flux_errors(run, name, times)) is not None:  # what they sum up to counts everywhere
            left = np.sqrt(left**2 + fluxes * fluxes.sum())
        found.append(left)
    middles = np.concatenate([group.points.mean(axis=1) for group in basis.cells])
    areas = np.concatenate([group.weights.sum(axis=1) for group in basis.cells])
    history = np.linalg.norm(found, axis=2).max(axis=0)
    return SpaceError(np.max(found, axis=(0, 1)), middles, areas / areas.sum(), np.array(times), history)


def _remembered(run: Run, name: str) -> np.ndarray:
    """What cells leave of the state at the start and have not forgotten at the next time that is looked at, (E,).

    A layer that an initial state which does not fit the boundary data leaves is too thin for a cell until it has grown to about h/p, at the
    time 1/λ, λ = K_ii/M_ii of the cell's own functions. From then on it is resolved; the moments that were lost before then are of
    high degree, and fade in times t ≫ 1/λ like (λt)^−_FADING.
    """
    basis, system = run.discretisation.basis, run.discretisation.system
    linear, N, start, first = system.linear, system.fields[name].space.N, float(run.times[0]), later_times(run)[0]
    assert isinstance(basis, LocalBasis)
    lost = basis.errors(coefficients(run, name, [start]))
    assert lost is not None
    if (
        not isinstance(linear, SparsePart)
        or not isinstance(N, SparseMatrix)
        or name not in system.slices
        or first <= start
    ):
        return np.zeros(lost.shape[-1])
    stiffness, mass = (part.diagonal()[system.slices[name]] for part in (linear.stiffness, linear.mass))
    rates = abs(N.matrix) @ np.maximum(-stiffness / mass, 0.0)
    rates[np.diff(N.matrix.indptr) == 0] = math.inf  # functions that are prescribed
    slowest = np.concatenate([rates[group.functions].min(axis=1) for group in basis.cells])
    return lost.numpy()[0] * (1.0 + slowest * (first - start)) ** -_FADING
