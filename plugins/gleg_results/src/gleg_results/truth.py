"""What a run is compared with: the exact solution on independent points, or the values of a reference file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from torch.quasirandom import SobolEngine

from gleg_core.algebra.boundary_system import spread
from gleg_core.contracts.basis import as_points
from gleg_core.contracts.domain import Domain
from gleg_core.contracts.location import Location
from gleg_core.errors import GeometryError
from gleg_core.run import Run
from gleg_results.reference import Reference, read_reference, strictly_inside


def independent_points(domain: Domain, count: int) -> np.ndarray:
    """Quasi-random points strictly inside Ω, unrelated to any quadrature, shape (count, dim)."""
    sampler = SobolEngine(domain.dim, scramble=True, seed=20_011)  # scipy's would take half a second to import
    low, high = domain.bounds.T
    found: list[np.ndarray] = []
    for _ in range(200):
        points = low + (high - low) * sampler.draw(count, dtype=torch.float64).numpy()
        found.append(points[strictly_inside(domain, points)])
        if sum(map(len, found)) >= count:
            return np.concatenate(found)[:count]
    raise GeometryError("fewer than one in 200 points of the domain's bounding box lie inside it; check domain.bounds")


@dataclass(frozen=True)
class Truth:
    """Values (F, n) of one field at the saved times with the indices ``frames``, on points ``x`` with ``weights`` of sum 1.

    ``own_error``: relative L² error of the values at the last of the reference's times, zero for an exact solution.
    """

    source: Literal["exact", "reference"]
    x: Tensor
    weights: Tensor
    frames: list[int]
    values: Tensor
    own_error: float

    def squares(self, values: Tensor) -> Tensor:
        """‖f‖² / |Ω| of every row, shape (F,)."""
        return values**2 @ self.weights


def truths(run: Run, count: int, frames: Sequence[int] | None = None) -> dict[str, Truth]:
    """Field → what it is compared with, for the fields where something is known. An exact solution wins over a reference.

    ``count``, ``frames``: number of independent points and indices of the saved times (default: all) for exact solutions; a reference
    brings its own.
    """
    chosen = list(range(len(run.times))) if frames is None else list(frames)
    domain = run.discretisation.domain
    reference = read_reference(run.problem, domain)
    found: dict[str, Truth] = {}
    at: Location | None = None
    for field in run.problem.fields:
        if field.section.exact is not None:
            at = at or Location(as_points(independent_points(domain, count)))
            values = torch.stack([spread(at.moment(float(run.times[i]))(field.section.exact), at) for i in chosen])
            found[field.name] = Truth("exact", at.x, torch.full((count,), 1.0 / count).double(), chosen, values, 0.0)
        elif reference is not None and field.name in reference.values:
            truth = _from_reference(reference, field.name, run.times)
            if truth.frames:
                found[field.name] = truth
    return found


def _from_reference(reference: Reference, name: str, times: np.ndarray) -> Truth:
    """The values at those of the reference's times that the run has reached and saved."""
    slack = 1e-9 * float(reference.times[-1] - reference.times[0] + abs(times[-1] - times[0]))
    away = np.abs(times[:, None] - reference.times)  # (saved, reference)
    known = np.flatnonzero(away.min(axis=0) <= slack)
    frames = away.argmin(axis=0)[known].tolist()
    weights = as_points(reference.weights / reference.weights.sum())
    values = as_points(reference.values[name][known])
    return Truth("reference", as_points(reference.points), weights, frames, values, reference.estimated_error)


def pooled(squares: Mapping[str, tuple[Tensor, Tensor]], found: Mapping[str, Truth]) -> Tensor:
    """(Σ‖e‖²)^{1/2} / (Σ‖u‖²)^{1/2} over all fields, at the saved times that all of them are compared at, shape (F,).

    ``squares``: field → (‖e‖², ‖u‖²), each (F,).
    """
    common = sorted(set.intersection(*(set(found[name].frames) for name in squares)))
    rows = {name: [found[name].frames.index(i) for i in common] for name in squares}
    wrong, total = torch.stack([torch.stack(pair)[:, rows[name]] for name, pair in squares.items()]).sum(dim=0)
    return relative(wrong, total)


def relative(wrong: Tensor, total: Tensor) -> Tensor:
    """‖e‖ / ‖u‖ from squares."""
    return (wrong / total.clamp_min(1e-300)).sqrt()


def summary(history: Tensor) -> dict[str, float]:
    """At the last of the compared times, mean and maximum over them; NaN where there is none."""
    if not len(history):
        return dict.fromkeys(("final", "mean", "max"), float("nan"))
    return {"final": float(history[-1]), "mean": float(history.mean()), "max": float(history.max())}
