"""A finished (or interrupted) run: its states, and its fields at any point and time."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from torch import Tensor

from gleg_core.contracts.basis import as_points
from gleg_core.contracts.closure import covers
from gleg_core.contracts.integrator import Integrator
from gleg_core.contracts.jet import MultiIndex
from gleg_core.errors import PackError, did_you_mean, listing
from gleg_core.estimate import Choice, Estimate
from gleg_core.registry.absent import refused
from gleg_core.registry.catalogue import bringer
from gleg_core.spec.blame import failure
from gleg_core.spec.problem import Problem
from gleg_core.system.discretise import Discretisation
from gleg_core.system.rollout import Trajectory, rollout

Stage = tuple[str, str, float]
_HOOK = "gleg_run_attributes"


@dataclass(eq=False, repr=False)
class Run:
    """The result of :func:`gleg.solve`.

    ``run.u(x, y, t)`` evaluates a field (here called u) at any points and time. Packs add further attributes: with gleg-results
    installed, ``run.dataset`` is an xarray dataset, ``run.metrics`` a dictionary, ``run.plot()`` a figure, and ``run.save(folder)``
    writes everything.
    """

    discretisation: Discretisation
    integrator: Integrator
    trajectory: Trajectory
    timing: dict[str, float]
    stages: Sequence[Stage] = ()
    """(name, line of facts, seconds) of what was done."""
    choice: Choice | None = None
    """What was chosen for the accuracy that the problem states, and the error to expect."""
    estimate: Estimate | None = None
    """The error to expect, part by part; None if nobody looked."""
    _between: dict[float, Tensor] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.stages = tuple(self.stages)

    def amended(self, **changes: Any) -> "Run":
        """The same run with other timing, stages, choice or estimate."""
        return replace(self, **changes)

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
        slack = 1e-9 * (times[-1] - times[0]) + 4 * math.ulp(max(abs(times[0]), abs(times[-1])))
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
        """∂^αu at ``points`` (n, dim) and time ``t``; NaN outside the closed domain."""
        points = np.asarray(points, dtype=float)
        system, basis = self.discretisation.system, self.discretisation.basis
        coefficients = system.coefficients(field, self.state(float(t)), float(t))
        inside = covers(self.discretisation.domain, points)
        values = np.full(len(points), np.nan)
        if inside.any():
            values[inside] = basis.evaluate(coefficients, as_points(points[inside]), derivative).numpy()
        return values

    def __repr__(self) -> str:
        title = self.problem.section.title or self.problem.document.name
        return f"<Run of '{title}': fields {', '.join(self.field_names)}, t = {self.times[0]:g} … {self.times[-1]:g}>"

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.field_names, *(o.tool.name for o in self.problem.registry.tools(_HOOK))]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self.field_names and not bringer("run attribute", name):  # fields of old runs may have such names
            return partial(self._field, name)
        registry = self.problem.registry
        if (offered := registry.tool(_HOOK, name)) is None:
            known = [*self.field_names, *(o.tool.name for o in registry.tools(_HOOK))]
            hints = f"{did_you_mean(name, known)}{refused(registry)}"
            raise AttributeError(
                registry.missing(_HOOK, name)
                or f"a run has no attribute '{name}'. Fields: {listing(self.field_names)}.{hints}"
            )
        target = registry.target(offered)
        if offered.tool.facts.get("kind") == "method":
            return partial(target, self)
        try:
            self.__dict__[name] = target(self)
        except (Exception, SystemExit) as error:
            if offered.pack.first_party:
                raise
            raise PackError(failure(offered.pack, f"while it made run.{name}", error)) from error
        return self.__dict__[name]

    def _field(self, name: str, *place: Any, derivative: MultiIndex | None = None) -> Any:
        """Value at (x, y, t): numbers or arrays that broadcast."""
        dim = self.discretisation.domain.dim
        if len(place) != dim + 1:
            raise TypeError(f"{name}(…) takes {dim} coordinates and t, found {len(place)} arguments")
        *coordinates, t = np.broadcast_arrays(*map(np.asarray, place))
        points = np.stack([c.ravel() for c in coordinates], axis=1)
        values = np.empty(t.size)
        for moment in np.unique(t):
            here = t.ravel() == moment
            values[here] = self.evaluate(name, points[here], float(moment), derivative)
        return float(values[0]) if t.ndim == 0 else values.reshape(t.shape)
