"""Measures of a run that do not flatter: independent points, dense unseen boundary points, invariants."""

from __future__ import annotations

import math
import platform
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from gleg_core.algebra.boundary_system import BoundaryPoints, BoundarySystem, spread
from gleg_core.algebra.tables import tabulate
from gleg_core.contracts.basis import as_points
from gleg_core.contracts.domain import Domain
from gleg_core.contracts.jet import Jet
from gleg_core.contracts.location import Location
from gleg_core.errors import GeometryError
from gleg_core.expressions import Expression

if TYPE_CHECKING:
    from gleg_core.results.run import Run

_POINTS = 4000
_SEED = 20_011


def independent_points(domain: Domain, count: int = _POINTS) -> np.ndarray:
    """Quasi-random points in Ω, unrelated to any quadrature and never on ∂Ω, shape (count, dim)."""
    from scipy.stats import qmc

    sampler = qmc.Halton(domain.dim, seed=_SEED)
    low, high = domain.bounds[:, 0], domain.bounds[:, 1]
    found: list[np.ndarray] = []
    for _ in range(200):
        points = low + (high - low) * sampler.random(count)
        found.append(points[domain.contains(points)])
        if sum(map(len, found)) >= count:
            return np.concatenate(found)[:count]
    raise GeometryError("fewer than one in 200 points of the domain's bounding box lie inside it; check domain.bounds")


def measure(run: Run) -> dict[str, Any]:
    """All metrics of a run as plain numbers."""
    fields = {name: _field_metrics(run, name) for name in run.field_names}
    d, t = run.discretisation, run.trajectory
    result: dict[str, Any] = {"title": run.problem.section.title}
    scored = [f for f in fields.values() if "relative_l2" in f]
    if scored:
        result["relative_l2"] = _pooled([f.pop("_squares") for f in scored])
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
            "growing_modes": d.system.growing_modes,
            "cached_space": d.cached,
        },
        "timing": {k: round(v, 4) for k, v in run.timing.items()},
        "versions": {n: version(n) for n in ("gleg-core", "torch", "numpy")} | {"python": platform.python_version()},
    }


def undefined_errors(run: Run) -> list[str]:
    """One line per field whose exact solution stops being finite during the run, with the first such saved time."""
    lines = []
    for name, field in run.metrics["fields"].items():
        error = field.get("relative_l2", {"times": [], "history": []})
        pairs = zip(error["times"], error["history"], strict=True)
        if (first := next((t for t, e in pairs if not math.isfinite(e)), None)) is not None:
            place = run.problem.document.locate(("fields", name, "exact"))
            lines.append(f"{place}: not finite at t = {first:.6g}, so the error of '{name}' is not known there")
    return lines


def _field_metrics(run: Run, name: str) -> dict[str, Any]:
    spec = next(f for f in run.problem.fields if f.name == name)
    values = _Values(run, name)
    result: dict[str, Any] = {}
    if spec.section.exact is not None:
        result |= values.errors(spec.section.exact)
    return result | {
        "boundary_residual": values.boundary_residual(),
        "invariants": values.invariants(),
        "space": run.discretisation.system.fields[name].space.diagnostics,
    }


def _pooled(squares: list[tuple[Tensor, Tensor]]) -> dict[str, float]:
    """Relative L² of all fields together: (Σ‖e‖²)^{1/2} / (Σ‖u‖²)^{1/2} at every saved time."""
    wrong, total = (torch.stack(parts).sum(dim=0) for parts in zip(*squares, strict=True))
    return _summary((wrong / total.clamp_min(1e-300)).sqrt())


def _summary(history: Tensor) -> dict[str, float]:
    return {"final": float(history[-1]), "mean": float(history.mean()), "max": float(history.max())}


class _Values:
    """One field at the saved times: ambient coefficients (F, M) and what is computed from them."""

    def __init__(self, run: Run, name: str):
        d = run.discretisation
        self._field = d.system.fields[name]
        self._basis, self._domain = d.basis, d.domain
        self._times = run.trajectory.times
        self._a = torch.stack(
            [d.system.coefficients(name, z, t) for z, t in zip(run.trajectory.states, self._times, strict=True)]
        )

    def errors(self, exact: Expression) -> dict[str, Any]:
        """Relative L² error at every saved time on independent points."""
        at = Location(as_points(independent_points(self._domain)))
        u = self._basis.evaluate(self._a, at.x)
        truth = torch.stack([spread(at.moment(t)(exact), at) for t in self._times])
        wrong, total = ((u - truth) ** 2).mean(dim=1), (truth**2).mean(dim=1)
        history = (wrong / total.clamp_min(1e-300)).sqrt()
        return {
            "relative_l2": {**_summary(history), "times": self._times, "history": history.tolist()},
            "_squares": (wrong, total),
        }

    def boundary_residual(self) -> dict[str, float]:
        """RMS over dense unseen boundary points and saved times of B u − g: absolute, and relative to the RMS over Ω of u
        (for traces of the value) or |∇u| (for traces with a derivative)."""
        system = self._field.space.boundary
        dense = BoundaryPoints.sample(self._domain, lambda length: 0) if self._domain.dim == 1 else self._dense()
        unseen = BoundarySystem(dense, system.conditions)
        scale = self._scales()
        squares, count, relative = 0.0, 0, 0.0
        for condition, at in zip(unseen.conditions, unseen.locations, strict=True):
            operator = condition.operator
            jet = Jet(lambda alpha, x=at.x: self._a @ tabulate(self._basis, x, alpha), at.dim)  # type: ignore[misc]
            traces = operator.traces(jet, at)
            for i, trace in enumerate(traces):
                data = torch.stack([condition.data(at.moment(t))[i] for t in self._times])
                residual = (trace - data) ** 2
                squares, count = squares + float(residual.sum()), count + residual.numel()
                order = min(1, operator.order - (operator.conditions - 1 - i))
                relative = max(relative, float(residual.mean()) ** 0.5 / scale[order])
        return {"rms": (squares / count) ** 0.5 if count else 0.0, "relative": relative}

    def _dense(self) -> BoundaryPoints:
        used = self._field.space.boundary.points.spans
        names = iter(self._domain.segments)

        def count(length: float) -> int:
            span = used[next(names).name]
            return 2 * (span.stop - span.start) + 7

        return BoundaryPoints.sample(self._domain, count)

    def _scales(self) -> tuple[float, float]:
        """RMS of u and of |∇u| over Ω and saved times."""
        x, w = self._field.space.nodes.x, self._field.space.weights
        jet = Jet(lambda alpha: self._a @ tabulate(self._basis, x, alpha), self._basis.dim)
        area = w.sum()
        value = float(((jet.value**2) @ w / area).mean().sqrt())
        slope = float((sum(g**2 for g in jet.grad) @ w / area).mean().sqrt())  # type: ignore[operator]
        return max(value, 1e-300), max(slope, 1e-300)

    def invariants(self) -> dict[str, Any]:
        """Histories of ∫u and ½∫u² over Ω."""
        u = self._basis.evaluate(self._a, self._field.space.nodes.x)
        w = self._field.space.weights
        return {"times": self._times, "mass": (u @ w).tolist(), "energy": (0.5 * (u**2) @ w).tolist()}
