"""Pictures of a discovery: coefficients with intervals, evidence of laws by size, predicted against observed readings."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from gleg_core.run import Run
    from gleg_discovery.discover import Discovery
    from gleg_discovery.identify import FieldLaw

_KEPT = "#1f77b4"
_MOST_POINTS, _TRACES = 5000, 6
"""Points of a scatter plot, and sensors shown over time: more would hide one another."""


def all_pictures(found: "Discovery") -> "dict[str, Figure]":
    """Name of the file → figure; one column per field."""
    laws = list(found.identification.laws.values())
    return {
        "coefficients": _by_field(laws, coefficients),
        "selection": _by_field(laws, selection),
        "sensors": _sensors(found),
    }


def _figure(rows: int, columns: int, width: float) -> "tuple[Figure, np.ndarray]":
    """A figure and its axes (rows, columns)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, 3.4 * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def _by_field(laws: "list[FieldLaw]", draw: "Callable[[FieldLaw, Axes], None]") -> "Figure":
    figure, (row,) = _figure(1, len(laws), 1.2 + 4.2 * len(laws))
    for law, axes in zip(laws, row, strict=True):
        draw(law, axes)
    return figure


def coefficients(law: "FieldLaw", axes: "Axes") -> None:
    """All candidates in units of their standard error would hide their size: c/σ_c as length, the interval as a bar at ±1.96."""
    t = law.full.c / law.full.errors
    places = np.arange(len(law.labels))[::-1]
    colours = [_KEPT if label in law.law.labels else "#bbbbbb" for label in law.labels]
    axes.barh(places, t, color=colours, height=0.6)
    axes.errorbar(t, places, xerr=1.96, fmt="none", ecolor="black", capsize=3)
    axes.set_yticks(places, law.labels)
    for place, c, error, x in zip(places, law.full.c, law.full.errors, t, strict=True):
        axes.annotate(f"{c:.3g} ± {error:.1g}", (x, place), xytext=(4 if x >= 0 else -4, 6), textcoords="offset points",
                      ha="left" if x >= 0 else "right", fontsize=7)  # fmt: skip
    axes.axvline(0, color="black", lw=0.6)
    axes.set_xscale("symlog", linthresh=10)
    axes.margins(x=0.3)
    axes.set_title(f"{law.field}_t: coefficients in standard errors, all candidates", fontsize=9)


def selection(law: "FieldLaw", axes: "Axes") -> None:
    """The best BIC for every number of terms, named by what it contains."""
    best = {len(support): (bic, support) for support, bic in reversed(law.selection.ranking)}  # the least comes last
    sizes = sorted(best)
    axes.plot(sizes, [best[n][0] for n in sizes], "o-", color=_KEPT)
    for n in sizes:
        axes.annotate(", ".join(law.labels[p] for p in best[n][1]) or "nothing", (n, best[n][0]), xytext=(0, 7),
                      textcoords="offset points", fontsize=7, ha="center")  # fmt: skip
    axes.set_yscale("symlog", linthresh=10)
    axes.set_xticks(sizes)
    axes.margins(0.2)
    axes.set_xlabel("number of terms", fontsize=8)
    axes.set_title(f"{law.field}_t: BIC above the best of the laws ranked first", fontsize=9)


def _sensors(found: "Discovery") -> "Figure":
    """Per field: readings against the smooth paths, and some sensors in time."""
    paths = found.identification.paths
    figure, grid = _figure(len(paths), 2, 9.0)
    for (name, p), (left, right) in zip(paths.items(), grid, strict=True):
        fitted = [s.sample_times.values(len(Z)) @ Z @ s.sensors.phi.T for s, Z in zip(p.series, p.Z, strict=True)]
        observed = [s.values if s.observed is None else np.where(s.observed, s.values, np.nan) for s in p.series]
        y, u = (np.concatenate([a.ravel() for a in arrays]) for arrays in (observed, fitted))
        y, u = y[np.isfinite(y)], u[np.isfinite(y)]
        some = np.random.default_rng(0).permutation(len(y))[:_MOST_POINTS]
        left.plot(y[some], u[some], ".", ms=2, color=_KEPT)
        ends = [float(min(y.min(), u.min())), float(max(y.max(), u.max()))]
        left.plot(ends, ends, "k-", lw=0.6)
        left.set_xlabel(f"{name} observed (without boundary data)", fontsize=8)
        left.set_ylabel("smooth path", fontsize=8)
        first = p.series[0]
        chosen = np.linspace(0, first.values.shape[1] - 1, _TRACES).astype(int)
        right.plot(first.sample_times.times, observed[0][:, chosen], ".", ms=2)
        right.set_prop_cycle(None)
        right.plot(first.sample_times.times, fitted[0][:, chosen], "-", lw=1)
        right.set_xlabel(f"t, {_TRACES} sensors of '{first.name}'", fontsize=8)
    return figure


def rollout(found: "Discovery", run: "Run") -> "Figure":
    """The law from the first recording to the end of the run: at some sensors, with the readings, and the field at the end."""
    recording, names = found.recordings[0], run.field_names
    figure, grid = _figure(len(names), 2, 9.0)
    chosen = np.linspace(0, len(recording.points) - 1, _TRACES).astype(int)
    for name, (left, right) in zip(names, grid, strict=True):
        values = np.stack([run.evaluate(name, recording.points[chosen], t) for t in run.times])
        left.plot(run.times, values, "-", lw=1)
        left.set_prop_cycle(None)
        left.plot(recording.times, recording.values[name][:, chosen], ".", ms=2)
        left.axvspan(recording.times[0], recording.times[-1], color="#dddddd", zorder=0)
        left.set_xlabel(f"t; {name} at {_TRACES} sensors, readings in the grey window", fontsize=8)
        if found.spaces.domain.dim == 2:
            data = run.dataset[name].isel(time=-1)
            right.set_aspect("equal")
            shown = right.pcolormesh(data["x"], data["y"], data.values, shading="auto")
            figure.colorbar(shown, ax=right)
            right.set_title(f"{name} at t = {float(run.times[-1]):g}", fontsize=9)
        else:
            right.set_axis_off()
    return figure
