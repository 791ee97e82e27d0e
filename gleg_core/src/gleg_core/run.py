"""A finished (or interrupted) run: evaluate it anywhere, measure it, draw it, save it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from gleg_core.contracts.basis import as_points
from gleg_core.contracts.integrator import Integrator
from gleg_core.contracts.jet import MultiIndex
from gleg_core.errors import did_you_mean, listing
from gleg_core.spec.problem import Problem
from gleg_core.system.discretise import Discretisation
from gleg_core.system.rollout import Trajectory, rollout

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

    from gleg_core.automatic import Choice
    from gleg_results.dataset import Arrays


class Run:
    """The result of :func:`gleg_core.solve`.

    ``run.u(x, y, t)`` evaluates a field (here called u) at any points and time; ``run.dataset`` is an xarray dataset;
    ``run.metrics`` a dictionary; ``run.plot()`` a figure; ``run.save(folder)`` writes everything.
    """

    def __init__(
        self, discretisation: Discretisation, integrator: Integrator, trajectory: Trajectory, timing: dict[str, float]
    ):
        self.discretisation = discretisation
        self.integrator = integrator
        self._between: dict[float, Tensor] = {}
        self.trajectory = trajectory
        self.timing = timing
        self.choice: Choice | None = None
        """What was chosen for the accuracy that the problem states, and the error to expect."""

    @property
    def problem(self) -> Problem:
        return self.discretisation.problem

    @property
    def field_names(self) -> tuple[str, ...]:
        return tuple(self.discretisation.system.fields)

    @property
    def times(self) -> np.ndarray:
        """Saved times."""
        return np.array(self.trajectory.times)

    def state(self, t: float) -> Tensor:
        """z(t): a saved state, or integrated from the last saved one before t with the run's own steps."""
        times = self.trajectory.times
        slack = 1e-9 * max(1.0, abs(times[-1] - times[0]))
        if not times[0] - slack <= t <= times[-1] + slack:
            raise ValueError(f"t = {t:g} is outside the run, which covers {times[0]:g} to {times[-1]:g}")
        i = max(bisect_right(times, t + slack) - 1, 0)
        if abs(t - times[i]) <= slack:
            return self.trajectory.states[i]
        if t not in self._between:
            section = self.problem.section.time
            step = None if section.step == "auto" else section.step
            start = self.trajectory.states[i]
            short = rollout(self.discretisation.system, self.integrator, start, [times[i], t], step, section.tolerance)
            self._between[t] = short.states[-1]
        return self._between[t]

    def evaluate(self, field: str, points: np.ndarray, t: float, derivative: MultiIndex | None = None) -> np.ndarray:
        """∂^αu at ``points`` (n, dim) and time ``t``; NaN outside the domain."""
        points = np.asarray(points, dtype=float)
        system, basis = self.discretisation.system, self.discretisation.basis
        coefficients = system.coefficients(field, self.state(float(t)), float(t))
        inside = self.discretisation.domain.contains(points)
        values = np.full(len(points), np.nan)
        if inside.any():
            values[inside] = basis.evaluate(coefficients, as_points(points[inside]), derivative).numpy()
        return values

    def __repr__(self) -> str:
        title = self.problem.section.title or self.problem.document.name
        return f"<Run of '{title}': fields {', '.join(self.field_names)}, t = {self.times[0]:g} … {self.times[-1]:g}>"

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.field_names]

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or name not in self.field_names:
            raise AttributeError(
                f"a run has no attribute '{name}'. Fields: {listing(self.field_names)}.{did_you_mean(name, self.field_names)}"
            )

        dim = self.discretisation.domain.dim

        def field(*place: Any, derivative: MultiIndex | None = None) -> Any:
            """Value at (x, y, t): numbers or arrays that broadcast."""
            if len(place) != dim + 1:
                raise TypeError(f"{name}(…) takes {dim} coordinates and t, found {len(place)} arguments")
            *coordinates, t = np.broadcast_arrays(*map(np.asarray, place))
            points = np.stack([c.ravel() for c in coordinates], axis=1)
            values = np.empty(t.size)
            for moment in np.unique(t):
                here = t.ravel() == moment
                values[here] = self.evaluate(name, points[here], float(moment), derivative)
            return float(values[0]) if t.ndim == 0 else values.reshape(t.shape)

        return field

    @cached_property
    def metrics(self) -> dict[str, Any]:
        """Errors, boundary residuals, invariants, space and timing."""
        from gleg_results.metrics import measure

        return measure(self)

    @cached_property
    def arrays(self) -> Arrays:
        """What :attr:`dataset` holds, as plain arrays: xarray takes longer to import than many a run to solve."""
        from gleg_results.dataset import tabulated

        return tabulated(self)

    @cached_property
    def dataset(self) -> xarray.Dataset:
        """Fields on a grid and on the quadrature nodes at the saved times."""
        from gleg_results.dataset import as_dataset

        return as_dataset(self)

    def plot(self, path: str | Path | None = None) -> Figure:
        """Snapshots of all fields; written to ``path`` if given."""
        from gleg_results.pictures import snapshots

        figure = snapshots(self)
        if path is not None:
            figure.savefig(path, dpi=140)
        return figure

    def save(self, folder: str | Path) -> list[str]:
        """Write the run to ``folder`` (all or nothing) and return the names of the files."""
        from gleg_results.folder import write_run

        return write_run(self, Path(folder))
