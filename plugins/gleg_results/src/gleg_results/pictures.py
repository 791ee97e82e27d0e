"""Pictures of a run. Figures are made without pyplot, so nothing global is touched and no display is needed."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gleg_core.errors import OutputError
from gleg_core.run import Run
from gleg_results.coordinates import evenly
from gleg_results.domain_picture import draw_boundary
from gleg_results.error_picture import errors
from gleg_results.sections import OutputKeys


def plot(run: Run, path: str | Path | None = None) -> Figure:
    """Snapshots of all fields; written to ``path`` if given."""
    figure = snapshots(run)
    if path is not None:
        try:
            figure.savefig(path, dpi=140)
        except OSError as error:
            raise OutputError(f"{path}: could not be written: {error.strerror or error}") from error
    return figure


def all_pictures(run: Run) -> dict[str, Figure]:
    """File stem → figure."""
    figures = {"histories": histories(run)}
    if run.discretisation.domain.dim < 3:  # three dimensions: result.nc opens in any viewer
        figures["fields"] = snapshots(run)
        if (estimated := errors(run)) is not None:
            figures["estimate"] = estimated
    if run.problem.keys(OutputKeys).probes:
        figures["probes"] = probes(run)
    return figures


def snapshots(run: Run) -> Figure:
    """A row per field, a column per time (first to last), the boundary drawn on top."""
    dim = run.discretisation.domain.dim
    if dim == 1:
        return _lines(run)
    if dim == 3:
        raise OutputError("there are no pictures of three-dimensional runs; open result.nc in a viewer of your choice")
    chosen = evenly(len(run.times), 4)
    names = run.field_names
    figure = Figure(figsize=(3.1 * len(chosen) + 0.8, 2.9 * len(names) + 0.4), layout="constrained")
    axes = figure.subplots(len(names), len(chosen), squeeze=False)
    for row, name in zip(axes, names, strict=True):
        limits = color_limits(run.arrays.values(name))
        for ax, i in zip(row, chosen, strict=True):
            image = draw_field(ax, run, name, i, limits)
            ax.set_title(f"{name},  t = {run.times[i]:.4g}", fontsize=10)
        figure.colorbar(image, ax=list(row), shrink=0.85)
    if run.problem.section.title:
        figure.suptitle(run.problem.section.title, fontsize=11)
    return figure


def color_limits(values: np.ndarray) -> dict[str, Any]:
    """Colours: symmetric about zero if the field changes sign, else from its least to its largest value."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    if low < 0 < high and min(-low, high) > 0.05 * max(-low, high):
        bound = max(-low, high)
        return {"vmin": -bound, "vmax": bound, "cmap": "RdBu_r"}
    return {"vmin": low, "vmax": high, "cmap": "viridis"}


def draw_field(ax: Axes, run: Run, name: str, index: int, limits: dict[str, Any]) -> Any:
    """One field at one saved time, with the boundary."""
    x, y, values = (run.arrays.values(word) for word in ("x", "y", name))
    image = ax.pcolormesh(x, y, values[index], shading="nearest", rasterized=True, **limits)
    draw_boundary(ax, run.discretisation.domain)
    ax.set_aspect("equal")
    ax.tick_params(labelsize=7)
    return image


def _lines(run: Run) -> Figure:
    def curves(name: str) -> Iterator[tuple[np.ndarray, np.ndarray, str]]:
        for i in evenly(len(run.times), 6):
            yield run.arrays.values("x"), run.arrays.values(name)[i], f"t = {run.times[i]:.3g}"

    return _one_below_another(run, "x", curves)


def probes(run: Run) -> Figure:
    """Time series at the probes."""

    def curves(name: str) -> Iterator[tuple[np.ndarray, np.ndarray, str]]:
        series = run.arrays.values(f"{name}_probes").T
        for place, values in zip(run.problem.keys(OutputKeys).probes, series, strict=True):
            yield run.times, values, f"({', '.join(f'{c:g}' for c in place)})"

    return _one_below_another(run, "t", curves)


def _one_below_another(
    run: Run, abscissa: str, curves: Callable[[str], Iterable[tuple[np.ndarray, np.ndarray, str]]]
) -> Figure:
    """Labelled curves of every field."""
    names = run.field_names
    figure = Figure(figsize=(6, 2.8 * len(names)), layout="constrained")
    for ax, name in zip(figure.subplots(len(names), 1, squeeze=False)[:, 0], names, strict=True):
        for x, y, label in curves(name):
            ax.plot(x, y, label=label)
        ax.set_xlabel(abscissa)
        ax.set_ylabel(name)
        ax.legend(fontsize=7)
    return figure


def histories(run: Run) -> Figure:
    """Relative error (if an exact solution is known) and change of the invariants over time."""
    fields = run.metrics["fields"]
    scored = {n: f["relative_l2"] for n, f in fields.items() if "relative_l2" in f}
    panels = {"relative L² error": {n: (e["times"], np.maximum(e["history"], 1e-17)) for n, e in scored.items()}}
    for key, title in (("mass", "∫ u"), ("energy", "½ ∫ u²")):
        panels[title] = {n: (f["invariants"]["times"], f["invariants"][key]) for n, f in fields.items()}
    panels = {title: curves for title, curves in panels.items() if curves}
    figure = Figure(figsize=(4.0 * len(panels), 3.2), layout="constrained")
    for ax, (title, curves) in zip(figure.subplots(1, len(panels)), panels.items(), strict=True):
        for name, (times, values) in curves.items():
            ax.plot(times, values, label=name)
        ax.set_yscale("log" if "error" in title else "linear")
        ax.set_title(title, fontsize=10)
        ax.set_xlabel("t")
        ax.tick_params(labelsize=8)
        ax.legend(fontsize=8)
    return figure


def movie(run: Run, path: Path) -> None:
    """An animation of all fields over the saved times (GIF), in one or two dimensions."""
    from matplotlib.animation import FuncAnimation, PillowWriter
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    if run.discretisation.domain.dim == 3:
        raise OutputError("output.movie: there are no animations of three-dimensional runs")
    names = run.field_names
    figure = Figure(figsize=(4.2 * len(names), 3.8), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, len(names), squeeze=False)[0]
    redraw = [_moving(ax, run, name) for ax, name in zip(axes, names, strict=True)]
    frames = evenly(len(run.times), 120)
    animation = FuncAnimation(figure, lambda i: [draw(i) for draw in redraw], frames=frames, cache_frame_data=False)
    animation.save(str(path), writer=PillowWriter(fps=12), dpi=80)


def _moving(ax: Axes, run: Run, name: str) -> Callable[[int], Any]:
    """Draw a field at the first time; the result redraws it at the i-th."""
    values, flat = run.arrays.values(name), run.discretisation.domain.dim == 1
    limits = color_limits(values)
    artist: Any
    if flat:
        (artist,) = ax.plot(run.arrays.values("x"), values[0])
        ax.set_ylim(limits["vmin"], limits["vmax"])
    else:
        artist = draw_field(ax, run, name, 0, limits)
        ax.figure.colorbar(artist, ax=ax, shrink=0.85)

    def redraw(i: int) -> Any:
        (artist.set_ydata if flat else artist.set_array)(values[i])
        ax.set_title(f"{name},  t = {run.times[i]:.4g}", fontsize=10)
        return artist

    return redraw
