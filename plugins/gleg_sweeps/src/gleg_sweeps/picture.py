"""The picture of a sweep: error against a varied key, a curve per value of the others, or a map of two."""

from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
import xarray
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from gleg_sweeps.cases import Plan


def draw(plan: Plan, data: xarray.Dataset) -> Figure:
    """Error at the end; without an exact solution, ∫u of the first field there."""
    quantity = "error_final" if "error_final" in data else next((n for n in data if str(n).endswith("_mass")), "r")
    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    ax = figure.subplots()
    if quantity in data:
        values = data[quantity]
        label = str(values.attrs["long_name"]) if quantity == "error_final" else f"∫ {str(quantity)[:-5]} at the end"
        numeric = [v.key for v in plan.variations if v.numeric]
        large = len(numeric) == 2 == values.ndim and min(values.shape) >= 8
        (_map if large else _curves)(ax, values, numeric, label, quantity == "error_final")
    if data.attrs["title"]:
        ax.set_title(data.attrs["title"], fontsize=10)
    return figure


def geometric(values: Sequence[float]) -> bool:
    """Positive numbers that are closer to equal ratios than to equal distances want a logarithmic axis."""
    x = np.sort(np.asarray(values, dtype=float))
    if len(x) < 3 or x[0] <= 0:
        return False
    distances, ratios = np.diff(x), np.diff(np.log(x))
    return bool(np.std(ratios) / np.mean(ratios) < np.std(distances) / np.mean(distances))


def _curves(ax: Axes, values: xarray.DataArray, numeric: list[str], label: str, error: bool) -> None:
    """Along the longest numeric key (else the first); the other keys, if any, name the curves."""
    dims = [str(d) for d in values.dims]
    along = max([d for d in dims if d in numeric] or dims, key=lambda d: values.sizes[d])
    others = [d for d in dims if d != along]
    key = next((k for k in numeric if k in values.coords), along) if along == "case" else along
    x, numbers = values.coords[key].values, key in numeric
    table = values.transpose(*others, along).values.reshape(-1, len(x))
    combinations = list(np.ndindex(*(values.sizes[d] for d in others)))
    colours = matplotlib.colormaps["viridis"](np.linspace(0, 0.9, len(table)))
    order = np.argsort(x) if numbers else np.arange(len(x))
    for curve, index, colour in zip(table, combinations, colours, strict=True):
        name = ", ".join(f"{d} = {_short(values.coords[d].values[i])}" for d, i in zip(others, index, strict=True))
        ax.plot(x[order] if numbers else order, curve[order], "o-", ms=4, color=colour, label=name)
    if not numbers:
        ax.set_xticks(order, [str(word) for word in x])
    elif geometric(x):
        ax.set_xscale("log")
    if error and np.nanmax(values.values) > 0:
        ax.set_yscale("log")
    ax.set_xlabel(key)
    ax.set_ylabel(label)
    ax.grid(alpha=0.3)
    if others and len(table) <= 12:
        ax.legend(fontsize=7)


def _map(ax: Axes, values: xarray.DataArray, numeric: list[str], label: str, error: bool) -> None:
    along, up = numeric
    values = values.transpose(up, along).sortby([along, up])
    x, y = values.coords[along].values, values.coords[up].values
    positive = values.values[values.values > 0]
    norm: Any = LogNorm(positive.min(), positive.max()) if error and len(positive) else None
    image = ax.pcolormesh(x, y, values.values, shading="nearest", norm=norm, rasterized=True)
    if geometric(x):
        ax.set_xscale("log")
    if geometric(y):
        ax.set_yscale("log")
    ax.set_xlabel(along)
    ax.set_ylabel(up)
    assert ax.figure is not None
    ax.figure.colorbar(image, ax=ax, label=label)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, int | float | np.number) else str(value)
