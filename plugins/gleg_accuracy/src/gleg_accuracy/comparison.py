"""How far two solutions of a problem are apart, at some of the saved times."""

import numpy as np
import torch

from gleg_core.contracts.basis import as_points
from gleg_core.run import Run

_TIMES = 40
"""Saved times that are looked at, at most."""


def some_times(run: Run) -> list[float]:
    """Saved times from start to end, the first after the start among them: what a start that does not fit leaves is largest there."""
    last = len(run.times) - 1
    chosen = {0, min(1, last), *np.linspace(0, last, _TIMES).round().astype(int).tolist()}
    return [float(run.times[i]) for i in sorted(chosen)]


def later_times(run: Run) -> list[float]:
    """Those after the start, if there are any."""
    return some_times(run)[1:] or some_times(run)


def coefficients(run: Run, name: str, times: list[float]) -> torch.Tensor:
    """Of a field, (times, M)."""
    return torch.stack([run.discretisation.system.coefficients(name, run.state(t), t) for t in times])


def values(run: Run, name: str, times: list[float], points: np.ndarray) -> np.ndarray:
    """Of a field at points inside the domain, (times, points)."""
    return run.discretisation.basis.evaluate(coefficients(run, name, times), as_points(points)).numpy()


def difference(new: Run, old: Run, times: list[float], points: np.ndarray, weights: np.ndarray) -> float:
    """max_t ‖new − old‖ / max_t ‖new‖ in the norm of a quadrature rule; the largest of the fields."""
    worst = 0.0
    for name in new.field_names:
        u, v = (values(run, name, times, points) for run in (new, old))
        size, gap = float((u**2 @ weights).max()), float(((u - v) ** 2 @ weights).max())
        worst = max(worst, (gap / size if size > 0 else gap) ** 0.5)
    return worst
