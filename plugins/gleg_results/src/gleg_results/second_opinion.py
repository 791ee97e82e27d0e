"""A second opinion: the same problem on another kind of functions, with another integrator and finer steps, and how far the two differ."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from gleg_core.capabilities import BasisCapabilities
from gleg_core.errors import GlegError, NumericsError
from gleg_core.run import Run
from gleg_core.solver import Silent, solve
from gleg_core.spec.problem import Problem, load_problem, packs_of
from gleg_core.terminal import Listener

_FINER = 100.0
"""Factor by which the second run's time tolerance is smaller."""


@dataclass(frozen=True)
class Difference:
    """max_t ‖u₁ − u₂‖ / max_t ‖u₁‖ in L²(Ω) of one field, and when and where it is largest."""

    field: str
    relative: float
    moment: float
    place: tuple[float, ...]


@dataclass(frozen=True)
class SecondOpinion:
    """Two runs of one problem. ``values``: field → u₁ − u₂ at the nodes ``points`` (n, dim), at the moment of the largest difference."""

    runs: tuple[Run, Run]
    differences: tuple[Difference, ...]
    points: np.ndarray
    values: dict[str, np.ndarray]

    @property
    def largest(self) -> float:
        return max(d.relative for d in self.differences)

    @property
    def believed(self) -> int:
        """The number of the run that expects the smaller error; the second, which takes finer steps, if neither says."""
        first, second = (float("inf") if run.estimate is None else run.estimate.total for run in self.runs)
        return 0 if first < second else 1

    @property
    def verdict(self) -> str:
        """Which of the two to believe, and why."""
        one, other = self.runs[self.believed], self.runs[1 - self.believed]
        if one.estimate is None or other.estimate is None:
            return f"{label(one)} is believed: it takes the finer steps, and errors are not known"
        expected, others = f"{one.estimate.total:.1g}", f"{other.estimate.total:.1g}"
        return f"{label(one)} is believed: it expects an error of {expected}, {label(other)} one of {others}"

    def as_data(self) -> dict[str, Any]:
        return {
            "runs": [
                {"basis": label(run), "estimate": None if run.estimate is None else run.estimate.as_data()}
                for run in self.runs
            ],
            "differences": [vars(d) | {"place": list(d.place)} for d in self.differences],
            "believed": label(self.runs[self.believed]),
            "verdict": self.verdict,
        }


def label(run: Run) -> str:
    """Basis and integrator of a run."""
    problem = run.problem
    return f"{problem.basis.key.partition(':')[2]} with {problem.integrator.key.partition(':')[2]}"


def second_opinion(problem: Problem, listener: Listener | None = None) -> SecondOpinion:
    """Solve a problem twice and compare, at the first run's nodes and saved times."""
    listener = listener or Silent()
    first = _kept(problem, listener)
    refusals = []
    for other in _others(first.problem):
        try:
            return _compared(first, _kept(other, listener))
        except GlegError as error:
            refusals.append(f"{other.basis.key}: {error}")
    raise NumericsError("no other discretisation solves this problem: " + "; ".join(refusals))


def _kept(problem: Problem, listener: Listener) -> Run:
    """The run, also if it finds itself unresolved: the comparison says so."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*not resolved")
        warnings.filterwarnings("ignore", message=".*the solution is not smooth")
        return solve(load_problem(problem, {"unresolved": "warn"}), listener=listener)


def _others(problem: Problem) -> Iterator[Problem]:
    """The problem on bases of the other kind, local or global; then on its own with another integrator."""
    local = problem.basis.installed.capabilities(BasisCapabilities).local
    stated = problem.document.data
    kept = {key: value for key, value in stated["time"].items() if key not in ("integrator", "step")}
    time = kept | {"tolerance": problem.section.time.tolerance / _FINER}
    bases = problem.registry.entries("basis", also=packs_of(problem))
    kinds = [k for k, c in bases.items() if c.capabilities(BasisCapabilities).local != local]
    own = problem.basis.params.model_dump(mode="json") | {"kind": problem.basis.key}
    for basis in [*({"kind": kind} for kind in kinds), own]:
        try:
            data = {key: value for key, value in stated.items() if key not in ("accuracy", "space")}
            yield load_problem(replace(problem.document, data=data | {"basis": basis, "time": time}))
        except GlegError:  # a basis that does not suit the domain or the conditions
            continue


def _compared(first: Run, second: Run) -> SecondOpinion:
    field = next(iter(first.discretisation.system.fields.values()))
    points, weights = field.space.nodes.x.numpy(), field.space.weights.numpy()
    found, values = [], {}
    for name in first.field_names:
        pairs = [[run.evaluate(name, points, float(t)) for run in (first, second)] for t in first.times]
        u = np.array([pair[0] for pair in pairs])
        gap = np.nan_to_num(u - np.array([pair[1] for pair in pairs]))
        norms = np.sqrt(gap**2 @ weights)
        i = int(norms.argmax())
        size = float(np.sqrt((np.nan_to_num(u) ** 2 @ weights).max()))
        place = tuple(points[int(np.abs(gap[i]).argmax())].tolist())
        found.append(Difference(name, float(norms[i]) / (size or 1.0), float(first.times[i]), place))
        values[name] = gap[i]
    return SecondOpinion((first, second), tuple(found), points, values)


def picture(opinion: SecondOpinion) -> Figure:
    """|u₁ − u₂| of every field where and when it is largest."""
    figure = Figure(figsize=(4.2 * len(opinion.differences), 3.6), layout="constrained")
    for axes, d in zip(
        figure.subplots(1, len(opinion.differences), squeeze=False)[0], opinion.differences, strict=True
    ):
        gap = np.abs(opinion.values[d.field])
        if opinion.points.shape[1] == 1:
            order = np.argsort(opinion.points[:, 0])
            axes.plot(opinion.points[order, 0], gap[order])
        else:
            shown = axes.scatter(*opinion.points[:, :2].T, c=gap, s=2)
            axes.set_aspect("equal")
            figure.colorbar(shown, ax=axes)
        axes.set_title(f"difference of {d.field} at t = {d.moment:.3g}: {d.relative:.1g}", fontsize=9)
    return figure
