"""A problem as a differentiable function: (initial state, coefficients, boundary data) ↦ states at the saved times.

For fitting, control and design: gradients come by autograd, and their memory hardly grows with the number of steps.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gleg_core.contracts.basis import as_points
from gleg_core.contracts.integrator import Integrator
from gleg_core.errors import SpecError
from gleg_core.spec.problem import Problem, load_problem
from gleg_core.system.discretise import discretise
from gleg_core.system.initial import initial_state
from gleg_core.system.rollout import differentiable_rollout


class SolutionMap:
    """``flow = SolutionMap("lake.yaml")``; ``flow(coefficients=c)`` are the states (T, ..., R) at ``flow.times``.

    ``labels`` name the terms of all equations and ``coefficients`` (P,) are their constant coefficients, NaN where a coefficient is a
    formula; ``initial`` (R,) is the state at the start.
    """

    def __init__(self, source: str | Path | Mapping[str, Any] | Problem, **overrides: Any):
        self.problem = source if isinstance(source, Problem) else load_problem(source, overrides)
        with self.problem.located(), torch.no_grad():
            d = discretise(self.problem)
            # coordinates must not depend on the coefficients, as those of a steady lift do
            self.system = d.system.scaled([None] * len(d.system.modes), steady_lift=False)
            self.initial = initial_state(self.problem, self.system)
        self.discretisation = d
        section = self.problem.section.time
        if section.step == "auto":
            raise SpecError(f"{self.problem.document.locate(('time',))}: a differentiable solution needs a time.step")
        self._step = float(section.step)
        self._integrator: Integrator = self.problem.build(self.problem.integrator)
        self.times = np.linspace(section.start, section.end, self.problem.section.output.frames + 1)
        self.labels = tuple(f"{t.field}: {type(t.block).__name__}" for t, _ in d.system.modes)
        numbers = [t.coefficient.number for t, _ in d.system.modes]
        self.coefficients = torch.tensor([float("nan") if c is None else c for c in numbers], dtype=torch.float64)

    def __call__(
        self, initial: Tensor | None = None, coefficients: Tensor | None = None, data: Tensor | None = None
    ) -> Tensor:
        """States (T, ..., R) for initial states (..., R), coefficients (..., P) and factors (..., 1) on all boundary data, where given. NaN
        among the coefficients leaves one as it is in the problem."""
        system = self.system
        if coefficients is not None or data is not None:
            scales: list[Tensor | None] = [None] * len(self.coefficients)
            for p, c in enumerate(self.coefficients):
                if coefficients is not None and not (torch.isnan(c) or coefficients[..., p].isnan().all()):
                    if c == 0:
                        raise SpecError(
                            f"{self.labels[p]}: its coefficient in the problem is 0, which leaves nothing to scale"
                        )
                    scales[p] = coefficients[..., p : p + 1] / c
            system = system.scaled(scales, 1.0 if data is None else data)
        if initial is None:
            initial = self.initial if data is None else initial_state(self.problem, system)
        return differentiable_rollout(system, self._integrator, initial, self.times.tolist(), self._step)

    def values(self, field: str, states: Tensor, points: np.ndarray, t: float, data: Tensor | float = 1.0) -> Tensor:
        """u at ``points`` (n, dim) for states (..., R) at time ``t``: (..., n), differentiable. ``data`` as in the call."""
        system = self.system
        if isinstance(data, Tensor):
            system = system.scaled([None] * len(self.coefficients), data)
        return self.discretisation.basis.evaluate(system.coefficients(field, states, t), as_points(np.asarray(points)))
