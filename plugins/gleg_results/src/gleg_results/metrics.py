"""Measures of a run that do not flatter: independent points, dense unseen boundary points, invariants."""

import math
import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from torch import Tensor

from gleg_core.run import Run
from gleg_core.spec.problem import Problem
from gleg_core.system.reduced import ReducedSystem
from gleg_results import boundary_residuals as boundary
from gleg_results.coordinates import coefficients, synthesis
from gleg_results.reference import unused_reference
from gleg_results.truth import Truth, pooled, relative, summary, truths

POINTS = 4000
"""Independent points for the error against an exact solution."""


def measure(run: Run) -> dict[str, Any]:
    """All metrics of a run as plain numbers."""
    known = truths(run, POINTS)
    squares: dict[str, tuple[Tensor, Tensor]] = {}
    fields: dict[str, dict[str, Any]] = {}
    for name in run.field_names:
        a = coefficients(run, name)
        fields[name] = {}
        if (truth := known.get(name)) is not None:
            u = synthesis(run.discretisation.basis, a[truth.frames], truth.x)
            squares[name] = truth.squares(u - truth.values), truth.squares(truth.values)
            fields[name]["relative_l2"] = _errors(run, truth, *squares[name])
        fields[name] |= _field_metrics(run, name, a)
    d, t = run.discretisation, run.trajectory
    result: dict[str, Any] = {"title": run.problem.section.title}
    if run.estimate is not None:
        result["estimate"] = run.estimate.as_data()
    if run.choice is not None:
        result["accuracy"] = run.choice.as_data()
    if squares:
        result["relative_l2"] = summary(pooled(squares, known))
    result["boundary_residual"] = {
        key: max(f["boundary_residual"][key] for f in fields.values()) for key in ("rms", "relative")
    }
    spaces = [f["space"] for f in fields.values()]
    result["space"] = {"M": spaces[0]["M"], "rank": max(s["rank"] for s in spaces), "r": sum(s["r"] for s in spaces)}
    return result | {
        "fields": fields,
        "rollout": {
            "t": t.times[-1],
            "steps": t.steps,
            "rejected": t.rejected,
            "longest_step": t.longest,
            "interrupted": t.interrupted,
            "stiffness": d.system.linear.radius,
            "growing_modes": growing_modes(d.system),
            "cached_space": d.cached,
        },
        "timing": {k: round(v, 4) for k, v in run.timing.items()},
        "versions": {n: version(n) for n in ("gleg-core", "torch", "numpy")} | {"python": platform.python_version()},
    }


def growing_modes(system: ReducedSystem) -> int:
    """Number of eigenvalues of A that are clearly positive: growth the equation should explain."""
    values = system.linear.eigenvalues
    return 0 if values is None else int((values > 1e-9 * system.linear.radius).sum())


def remarks(problem: Problem, fields: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """A line if a reference is not used; one per field whose error stops being known during the run, with the first such saved
    time. ``fields``: name → times and history of its error."""
    lines = [line] if (line := unused_reference(problem)) else []
    for name, error in fields.items():
        pairs = zip(error["times"], error["history"], strict=True)
        if (first := next((t for t, e in pairs if not math.isfinite(e)), None)) is not None:
            place = problem.document.locate(("fields", name, "exact"))
            lines.append(f"{place}: not finite at t = {first:.6g}, so the error of '{name}' is not known there")
    return lines


def _errors(run: Run, truth: Truth, wrong: Tensor, total: Tensor) -> dict[str, Any]:
    history = relative(wrong, total)
    return {
        **summary(history),
        "times": [run.trajectory.times[i] for i in truth.frames],
        "history": history.tolist(),
        "against": truth.source,
        "points": len(truth.weights),
        "reference_error": truth.own_error,
    }


def _field_metrics(run: Run, name: str, a: Tensor) -> dict[str, Any]:
    d, times = run.discretisation, run.trajectory.times
    field = d.system.fields[name]
    u, w = synthesis(d.basis, a, field.space.nodes.x), field.space.weights
    return {
        "boundary_residual": boundary.total(boundary.boundary_residuals(field, d.domain, a, times)),
        "invariants": {"times": times, "mass": (u @ w).tolist(), "energy": (0.5 * u**2 @ w).tolist()},
        "space": field.space.diagnostics,
    }
