"""The picture of a card: error per bin, and what was learned against what is exact. Made without pyplot."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gleg_core.weights.card import Bin, Card

_FLOOR = 1e-17
"""Errors below it are drawn as it: a logarithmic axis has no zero."""
Curves = Mapping[str, tuple[np.ndarray, np.ndarray, np.ndarray]]


def card_picture(card: Card, curves: Curves) -> Figure:
    """First row: held-out error by amplitude and by wavenumber; then a row per curve: learned and exact, and their difference."""
    rows = 1 + len(curves)
    figure = Figure(figsize=(9.0, 3.2 * rows), layout="constrained")
    axes = figure.subplots(rows, 2, squeeze=False)
    _bars(axes[0, 0], card.by_amplitude, "max|u|", card.held_out)
    _bars(axes[0, 1], card.by_wavenumber, "wavenumber |k| on [−1, 1]^d", card.held_out)
    for (left, right), (title, (x, learned, exact)) in zip(axes[1:], curves.items(), strict=True):
        left.plot(x, exact, color="black", linewidth=2.2, alpha=0.35, label="exact")
        left.plot(x, learned, color="tab:red", linewidth=1.0, linestyle="--", label="learned")
        left.set_title(title, fontsize=10)
        left.legend(fontsize=8)
        error = np.abs(np.asarray(learned) - exact) / (float(np.abs(exact).max()) or 1.0)
        right.semilogy(x, np.maximum(error, _FLOOR), color="tab:red", linewidth=1.0)
        right.set_title("|learned − exact| / max|exact|", fontsize=10)
    figure.suptitle(f"{card.block}   {card.summary}", fontsize=11)
    for ax in figure.axes:
        ax.tick_params(labelsize=8)
    return figure


def _bars(ax: Axes, bins: Sequence[Bin], what: str, overall: float) -> None:
    places = range(len(bins))
    errors = [max(b.error, _FLOOR) for b in bins]
    overall = max(overall, _FLOOR)
    ax.bar(places, errors, color="tab:blue", width=0.8)
    ax.axhline(overall, color="black", linewidth=0.8, linestyle="--")
    ax.set_yscale("log")
    ax.set_ylim(10 ** (math.floor(math.log10(min(overall, *errors, 1.0))) - 1), 10 * max(overall, *errors, _FLOOR))
    ax.set_xticks(list(places), [f"{b.low:.3g}–{b.high:.3g}" for b in bins], rotation=30, ha="right")
    ax.set_xlabel(what, fontsize=9)
    ax.set_ylabel("relative held-out error", fontsize=9)
    ax.set_title(f"all states: {overall:.1e}" if bins else "no reference to compare with", fontsize=9)
