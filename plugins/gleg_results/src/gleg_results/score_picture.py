"""The picture of a score: reference, prediction, error and error history, one row per field."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from gleg_core.run import Run
from gleg_results.dataset import uniform_grid
from gleg_results.domain_picture import draw_boundary
from gleg_results.pictures import color_limits
from gleg_results.score import Score
from gleg_results.truth import Truth

_LABELS = {"best_approximation": "best approximation", "galerkin": "Galerkin", "time": "time"}


def score_picture(run: Run, score: Score) -> Figure:
    """At the last compared time; the error in logarithmic colours, its history with the contributions below it."""
    names, dim = run.field_names, run.discretisation.domain.dim
    columns = 4 if dim < 3 else 1
    figure = Figure(figsize=(3.7 * columns, 3.1 * len(names) + 0.3), layout="constrained")
    axes = figure.subplots(len(names), columns, squeeze=False)
    for row, name in zip(axes, names, strict=True):
        _history(row[-1], name, score.data["fields"][name])
        if dim < 3:
            _fields(figure, row[:3], run, name, score.truths.get(name))
    if score.data["title"]:
        figure.suptitle(score.data["title"], fontsize=11)
    return figure


def _fields(figure: Figure, row: np.ndarray, run: Run, name: str, truth: Truth | None) -> None:
    domain = run.discretisation.domain
    axes, points, inside = uniform_grid(domain, 281)
    known = [] if truth is None else [k for k, row in enumerate(truth.values) if bool(row.isfinite().all())]
    t = float(run.times[truth.frames[known[-1]] if truth and known else -1])
    u = run.evaluate(name, points[inside], t)
    reference, error = _compared(run, name, truth, known[-1], points[inside], u, t) if truth and known else (None, None)
    panels = ((truth.source if truth else "", reference), ("prediction", u), ("error", error))
    limits = color_limits(u if reference is None else np.concatenate([u, reference]))
    for ax, (title, values) in zip(row, panels, strict=True):
        if values is None:
            ax.set_axis_off()
            continue
        ax.set_title(f"{title} {name},  t = {t:.4g}", fontsize=10)
        ax.tick_params(labelsize=7)
        style = _log_colours(values) if title == "error" else limits
        if domain.dim == 1:
            (ax.semilogy if title == "error" else ax.plot)(axes[0][inside], values)
            continue
        full = np.full(len(points), np.nan)
        full[inside] = values
        image = ax.pcolormesh(*axes, full.reshape([*map(len, axes)]).T, shading="nearest", rasterized=True, **style)
        draw_boundary(ax, domain)
        ax.set_aspect("equal")
        figure.colorbar(image, ax=ax, shrink=0.8)


def _compared(
    run: Run, name: str, truth: Truth, row: int, points: np.ndarray, u: np.ndarray, t: float
) -> tuple[np.ndarray, np.ndarray]:
    """The reference and the error |u − u*| at its ``row``-th time: an exact solution everywhere, a file by its nearest point."""
    if truth.source == "exact":
        exact = run.problem.field(name).section.exact
        assert exact is not None
        place = dict(zip("xyz", points.T, strict=False))
        values = np.broadcast_to(np.asarray(exact(**place, t=t), dtype=float), u.shape)
        return values, np.abs(u - values)
    from scipy.spatial import cKDTree

    there = truth.x.numpy()
    _, nearest = cKDTree(there).query(points)
    values = truth.values[row].numpy()
    return values[nearest], np.abs(run.evaluate(name, there, t) - values)[nearest]


def _log_colours(error: np.ndarray) -> dict[str, Any]:
    """Six decades below the largest error at most."""
    high = max(float(np.nanmax(error, initial=0.0)), 1e-300)
    low = min(max(float(np.nanquantile(error, 0.02)), 1e-6 * high), 0.1 * high)
    np.maximum(error, low, out=error)
    return {"norm": LogNorm(low, high), "cmap": "magma"}


def _history(ax: Axes, name: str, field: dict[str, Any]) -> None:
    if field["error"] is None:
        ax.set_axis_off()
        return
    times, errors = field["times"], _drawn(field["error"]["history"])
    marker = "o" if len(times) < 30 else ""
    ax.semilogy(times, errors, color="black", marker=marker, markersize=3, label="error")
    for key, label in _LABELS.items():
        if (part := field["contributions"][key]) is not None:
            ax.semilogy(times, _drawn(part["history"]), "--", linewidth=1, marker=marker, markersize=2, label=label)
    own = field["contributions"]["reference"]["final"]
    if own:
        ax.axhline(own, color="grey", linestyle=":", linewidth=1, label="reference's own")
    if np.isfinite(errors).any():  # contributions far below the error are not shown
        ax.set_ylim(bottom=max(ax.get_ylim()[0], 1e-4 * float(np.nanmin(errors))))
    ax.set_title(f"relative L² error of {name}", fontsize=10)
    ax.set_xlabel("t")
    ax.tick_params(labelsize=8)
    ax.legend(fontsize=7)


def _drawn(history: list[float]) -> np.ndarray:
    """Zero has no logarithm: such points are left out."""
    values = np.array(history, dtype=float)
    return np.where(values > 0, values, np.nan)
