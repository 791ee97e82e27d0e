"""Many runs of one problem in a single batched rollout: initial states and coefficients may differ between the members.

The members share domain, basis, boundary conditions, mechanisms and steps, so that every product of the rollout is a matrix–matrix product.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import torch
from torch import Tensor

from gleg_core.contracts.basis import as_points
from gleg_core.contracts.closure import covers
from gleg_core.contracts.integrator import Integrator
from gleg_core.contracts.jet import MultiIndex
from gleg_core.errors import SpecError
from gleg_core.run import Run
from gleg_core.solver import Silent, integrate
from gleg_core.spec.loading import load_document
from gleg_core.spec.problem import FieldSpec, Problem, Resolved, TermSpec, load_problem
from gleg_core.stopwatch import Stopwatch
from gleg_core.system.discretise import Discretisation, discretise
from gleg_core.system.initial import initial_state
from gleg_core.system.reduced import ReducedSystem
from gleg_core.system.rollout import Trajectory
from gleg_core.terminal import Listener

if TYPE_CHECKING:
    import xarray


@dataclass(eq=False, repr=False)
class Ensemble(Sequence[Run]):
    """The runs of all members. ``ensemble[i]`` is a :class:`gleg_core.Run`; ``states`` (T, B, R) are all of them at the saved ``times``."""

    problems: Sequence[Problem]
    _base: Discretisation
    _system: ReducedSystem
    _scales: Sequence[Tensor | None]
    integrator: Integrator
    trajectory: Trajectory
    timing: dict[str, float]

    @cached_property
    def states(self) -> Tensor:
        """Coordinates of all members, (T, B, R)."""
        return torch.stack(self.trajectory.states)

    @property
    def times(self) -> np.ndarray:
        """Saved times."""
        return np.array(self.trajectory.times)

    def __len__(self) -> int:
        return len(self.problems)

    @overload
    def __getitem__(self, index: int) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> list[Run]: ...
    def __getitem__(self, index: int | slice) -> Run | list[Run]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        i = range(len(self))[index]
        scales = [None if s is None else s[i] for s in self._scales]
        system = self._base.system if all(s is None for s in scales) else self._base.system.scaled(scales)
        states = [z[i] for z in self.trajectory.states]
        d = replace(self._base, problem=self.problems[i], system=system, initial=states[0])
        return Run(d, self.integrator, replace(self.trajectory, states=states), self.timing)

    def evaluate(self, field: str, points: np.ndarray, t: float, derivative: MultiIndex | None = None) -> np.ndarray:
        """∂^αu of every member at ``points`` (n, dim) and a saved time, (B, n); NaN outside the domain."""
        points = np.asarray(points, dtype=float)
        k = int(np.abs(self.times - t).argmin())
        if abs(self.times[k] - t) > 1e-9 * float(np.ptp(self.times)) + 4 * math.ulp(float(np.abs(self.times).max())):
            raise ValueError(f"t = {t:g} is not a saved time; the nearest is {self.times[k]:g}")
        inside = covers(self._base.domain, points)
        values = np.full((len(self), len(points)), np.nan)
        a = self._system.coefficients(field, self.states[k], float(t))
        values[:, inside] = self._base.basis.evaluate(a, as_points(points[inside]), derivative).numpy()
        return values

    @property
    def dataset(self) -> "xarray.Dataset":
        """The datasets of all runs along a new dimension ``member``."""
        import xarray

        return xarray.concat([run.dataset for run in self], dim="member")


def ensemble(
    source: str | Path | Mapping[str, Any],
    members: Sequence[Mapping[str, Any]],
    *,
    listener: Listener | None = None,
    **overrides: Any,
) -> Ensemble:
    """Solve one problem for many initial states or coefficients at once.

    Every member is a mapping of what it changes in the problem, as in :func:`gleg_core.solve`:
    ``ensemble("lake.yaml", [{"constants": {"r": r}} for r in rates])``. What cannot differ within an ensemble is an error.
    """
    document = load_document(source) if isinstance(source, str | Path) else dict(source)
    return solve_together([load_problem(document, {**overrides, **member}) for member in members], listener)


def solve_together(problems: Sequence[Problem], listener: Listener | None = None) -> Ensemble:
    """Problems that differ in initial states and constant coefficients only, in one rollout."""
    if not problems:
        raise SpecError("an ensemble needs at least one member")
    listener, clock, base = listener or Silent(), Stopwatch(), problems[0]
    with base.located(), torch.no_grad():
        if base.needs_trials:
            raise SpecError("an ensemble needs its resolution and step stated: run one member with gleg resolve first")
        for other in problems[1:]:
            for what in _differences(base, other):
                raise SpecError(
                    f"{base.document.name}: {what} differs between members of an ensemble, which may differ in initial states and "
                    "constant coefficients of terms only: use gleg sweep"
                )
        d = discretise(base, lambda stage, facts: listener.stage(stage, facts, clock.lap(stage)))
        scales = _scales(problems, d.system)
        system = d.system if all(s is None for s in scales) else d.system.scaled(scales)
        initial = torch.stack([initial_state(p, system) for p in problems])
        integrator, trajectory = integrate(base, system, initial, listener)
    facts = f"{len(problems)} members, {trajectory.steps:,} steps to t = {trajectory.times[-1]:g}"
    listener.stage("rollout", facts, clock.lap("rollout"))
    return Ensemble(problems, d, system, scales, integrator, trajectory, clock.laps)


def _scales(problems: Sequence[Problem], system: ReducedSystem) -> list[Tensor | None]:
    """For every term of the system the members' coefficients over the first one's, (B, 1), None where all are equal."""
    base = problems[0]
    places = {base.document.locate(t.place): (f, i) for f, s in enumerate(base.fields) for i, t in enumerate(s.terms)}
    scales: list[Tensor | None] = []
    for term, _ in system.modes:
        f, i = places[term.where]
        values = [p.fields[f].terms[i].section.coefficient for p in problems]
        if all(v == values[0] for v in values):
            scales.append(None)
            continue
        numbers = torch.tensor([[float(v.number or 0.0)] for v in values], dtype=torch.float64)
        if float(numbers[0]) == 0.0:
            raise SpecError(f"{term.where}: the coefficient of the first member is 0: put another member first")
        scales.append(numbers / numbers[0])
    return scales


def _differences(a: Problem, b: Problem) -> Iterator[str]:
    """What differs in two problems that cannot differ within an ensemble."""
    for name in ("domain", "basis", "integrator"):
        if not _same(getattr(a, name), getattr(b, name)):
            yield name
    for name in ("space", "time"):
        if getattr(a.section, name) != getattr(b.section, name):
            yield name
    if a.section.output.frames != b.section.output.frames:
        yield "output.frames"
    if [f.name for f in a.fields] != [f.name for f in b.fields]:
        yield "fields"
        return
    for one, other in zip(a.fields, b.fields, strict=True):
        yield from (f"fields.{one.name}.{what}" for what in _field_differences(one, other))


def _field_differences(a: FieldSpec, b: FieldSpec) -> Iterator[str]:
    for name in ("steady", "forcing"):
        if getattr(a.section, name) != getattr(b.section, name):
            yield name
    if len(a.conditions) != len(b.conditions) or any(
        not _same(c.operator, d.operator) or (c.where, c.data_from_exact) != (d.where, d.data_from_exact)
        for c, d in zip(a.conditions, b.conditions, strict=True)
    ):
        yield "boundary"
    used = a.section.forcing != "none" or any(c.data_from_exact for c in a.conditions)
    if used and a.section.exact != b.section.exact:
        yield "exact"
    if len(a.terms) != len(b.terms):
        yield "equation"
        return
    for i, (s, t) in enumerate(zip(a.terms, b.terms, strict=True)):
        if not _same_mechanism(s, t):
            yield f"equation[{i}]"
        c, d = s.section.coefficient, t.section.coefficient
        if c != d and (c.number is None or d.number is None or a.section.forcing != "none"):
            yield f"equation[{i}].coefficient (not a constant, or part of a manufactured forcing)"


def _same(a: Resolved, b: Resolved) -> bool:
    return a.key == b.key and a.params == b.params


def _same_mechanism(a: TermSpec, b: TermSpec) -> bool:
    if a.section.realisation != b.section.realisation or len(a.square) != len(b.square):
        return False
    if a.block is None or b.block is None:
        parts = zip(a.square, b.square, strict=True)
        return a.block is b.block and all(
            _same_mechanism(s, t) and s.section.coefficient == t.section.coefficient for s, t in parts
        )
    return _same(a.block, b.block)
