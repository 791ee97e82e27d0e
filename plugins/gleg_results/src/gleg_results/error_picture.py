"""Where and when the estimated error of a run sits."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from gleg_core.contracts.domain import Domain
from gleg_core.estimate import Part
from gleg_core.run import Run
from gleg_results.domain_picture import draw_boundary

_DECADES = 6
"""Below the largest error, what is shown."""
_POINTS = 20_000


def errors(run: Run) -> Figure | None:
    """A panel over Ω for every field whose error in space is known there, and one over time; None if there are neither."""
    parts = [p for p in (run.estimate.parts if run.estimate else ()) if p.map is not None and p.error > 0]
    over_space = [p for p in parts if p.map is not None and len(p.map.points)]
    over_time = [p for p in parts if p.map is not None and len(p.map.times)]
    if not parts:
        return None
    figure = Figure(figsize=(4.0 * (len(over_space) + 1), 3.4), layout="constrained")
    *maps, last = figure.subplots(1, len(over_space) + 1, squeeze=False)[0]
    for ax, part in zip(maps, over_space, strict=True):
        _draw_map(ax, part, run.discretisation.domain)
    _draw_histories(last, over_time)
    return figure


def _draw_map(ax: Axes, part: Part, domain: Domain) -> None:
    assert part.map is not None
    x, density = part.map.points, part.map.density
    rows = np.argsort(density)[-_POINTS:]  # the largest are drawn last
    top = float(density.max())
    shown = np.clip(density[rows], top * 10.0**-_DECADES, None)
    if domain.dim == 1:
        along = np.argsort(x[rows, 0])
        ax.semilogy(x[rows[along], 0], shown[along])
        ax.set(xlabel="x", ylabel="relative error")
    else:
        scale = LogNorm(top * 10.0**-_DECADES, top)
        dots = ax.scatter(
            x[rows, 0], x[rows, 1], c=shown, s=6, linewidths=0, norm=scale, cmap="magma_r", rasterized=True
        )
        draw_boundary(ax, domain)
        ax.set_aspect("equal")
        ax.set(xlabel="x", ylabel="y")
        if part.place:
            ax.plot(*part.place, marker="o", markersize=12, markerfacecolor="none", color="tab:cyan")
        ax.figure.colorbar(dots, ax=ax, shrink=0.85, label="relative error")
    when = f", t = {part.moment:.3g}" if part.moment is not None else ""
    ax.set_title(f"{part.about} leaves {part.error:.1g}{when}", fontsize=9)
    ax.tick_params(labelsize=7)


def _draw_histories(ax: Axes, parts: Sequence[Part]) -> None:
    for part in parts:
        assert part.map is not None
        positive = np.maximum(part.map.history, part.error * 10.0**-_DECADES)
        ax.semilogy(
            part.map.times, positive, marker="." if len(positive) < 20 else "", label=f"{part.cause}: {part.about}"
        )
    ax.set(xlabel="t", ylabel="estimated error")
    ax.set_title("over time", fontsize=9)
    ax.tick_params(labelsize=7)
    if parts:
        ax.legend(fontsize=7)
