"""The score of a run: its error and where it comes from, boundary residuals, balances, conditioning. docs/scoring.md defines all."""

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from gleg_core.run import Run
from gleg_results import balances
from gleg_results.boundary_residuals import boundary_residuals, total
from gleg_results.contributions import Contributions, Progress, contributions, refine
from gleg_results.coordinates import coefficients, evenly
from gleg_results.metrics import growing_modes, remarks
from gleg_results.truth import Truth, pooled, relative, summary, truths

SCHEMA = 1
POINTS = 10_000
_PARTS = ("best_approximation", "galerkin", "time")
"""The contributions to an error, in the order they are shown; the reference's own comes last."""


@dataclass(frozen=True)
class Score:
    """``data`` is plain and becomes score.json; ``truths`` is what the picture is drawn from."""

    data: dict[str, Any]
    truths: dict[str, Truth]


@torch.no_grad()
def score(run: Run, points: int = POINTS, time_error: bool = True, progress: Progress = lambda t: None) -> Score:
    """Measure a run on ``points`` independent points (for exact solutions; a reference brings its own), at 201 saved times at most."""
    frames = evenly(len(run.times), 201)
    known = truths(run, points, frames)
    wanted = sorted({i for truth in known.values() for i in truth.frames})
    refined = refine(run, wanted, progress) if time_error and known and len(run.times) > 1 else None
    parts = {name: contributions(run, name, truth, refined) for name, truth in known.items()}
    budget = balances.budgets(run)
    fields = {
        name: _field(run, name, known.get(name), parts.get(name), frames) | {"budget": budget.get(name)}
        for name in run.field_names
    }
    data: dict[str, Any] = {
        "schema": SCHEMA,
        "title": run.problem.section.title,
        "t": run.trajectory.times[-1],
        "interrupted": run.trajectory.interrupted,
        "frames": len(frames),
        "time_refinement": refined.how if refined else None,
        "remarks": _remarks(run, known, parts, fields),
        "error": summary(pooled({n: (p.error, p.norm) for n, p in parts.items()}, known)) if known else None,
        "contributions": _contributions(parts, known),
        "boundary": {key: max(f["boundary"][key] for f in fields.values()) for key in ("rms", "relative")},
        "lyapunov": balances.lyapunov(run, frames),
        "fields": fields,
        "conditioning": _conditioning(run),
    }
    return Score(data, known)


def _contributions(parts: dict[str, Contributions], known: dict[str, Truth]) -> dict[str, Any] | None:
    """All fields together; None for a part that is not known of every field."""
    if not known:
        return None
    found: dict[str, Any] = {}
    for key in _PARTS:
        squares = {name: (getattr(part, key), part.norm) for name, part in parts.items()}
        missing = any(wrong is None for wrong, _ in squares.values())
        found[key] = None if missing else _ends(pooled(squares, known))
    own = {name: (truth.own_error**2 * parts[name].norm, parts[name].norm) for name, truth in known.items()}
    return found | {"reference": {"final": summary(pooled(own, known))["final"], "max": None}}


def _ends(history: Tensor) -> dict[str, float]:
    return {key: value for key, value in summary(history).items() if key != "mean"}


def _field(run: Run, name: str, truth: Truth | None, part: Contributions | None, frames: list[int]) -> dict[str, Any]:
    d = run.discretisation
    residuals = boundary_residuals(
        d.system.fields[name], d.domain, coefficients(run, name, frames), [run.trajectory.times[i] for i in frames]
    )
    field: dict[str, Any] = {"against": None, "points": None, "times": [], "error": None, "contributions": None}
    if truth is not None and part is not None:
        field["against"], field["points"] = truth.source, len(truth.weights)
        field["times"] = [run.trajectory.times[i] for i in truth.frames]
        history = relative(part.error, part.norm)
        field["error"] = {**summary(history), "history": history.tolist()}
        found: dict[str, Any] = {}
        for key in _PARTS:
            if (squares := getattr(part, key)) is not None:
                history = relative(squares, part.norm)
            found[key] = None if squares is None else {**_ends(history), "history": history.tolist()}
        field["contributions"] = found | {"reference": {"final": truth.own_error, "max": None, "history": None}}
    field["boundary"] = {**total(residuals), "traces": [asdict(r) for r in residuals]}
    field["invariants"] = balances.invariants(run, name, frames)
    return field


def _remarks(
    run: Run, known: dict[str, Truth], parts: dict[str, Contributions], fields: dict[str, dict[str, Any]]
) -> list[str]:
    histories = {n: {"times": fields[n]["times"], "history": fields[n]["error"]["history"]} for n in known}
    lines = remarks(run.problem, histories)
    for name in run.field_names:
        if name not in known:
            lines.append(f"{name}: neither an exact solution nor a reference is known here: no error")
        elif parts[name].best_approximation is None:
            r, n = run.discretisation.system.fields[name].r, len(known[name].weights)
            lines.append(f"{name}: best approximation not available: {n} reference points, 2r = {2 * r} are needed")
    if any(part.time is None for part in parts.values()):
        lines.append("the error in time was not measured: it is part of the Galerkin error")
    return lines


def _conditioning(run: Run) -> dict[str, Any]:
    d, space = run.discretisation, run.problem.section.space
    keys = ("M", "rank", "kernel", "r", "boundary_rows", "N_norm", "orthonormality", "quadrature_nodes")
    return {
        "tau_C": space.tau_C,
        "tau_M": space.tau_M,
        "stiffness": d.system.linear.radius,
        "growing_modes": growing_modes(d.system),
        "spaces": {n: {key: f.space.diagnostics.get(key) for key in keys} for n, f in d.system.fields.items()},
    }
