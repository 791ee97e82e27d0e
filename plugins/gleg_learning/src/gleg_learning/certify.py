"""How good a trained block is: held-out errors globally, per amplitude and per wavenumber."""

import math
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

import torch

from gleg_core.contracts.basis import Basis
from gleg_core.contracts.learned import LearnedBlock
from gleg_core.weights.card import Bin
from gleg_learning.recipe import Recipe
from gleg_learning.samples import Samples, random_states, single_modes

_WAVENUMBERS = (0.5, 2, 4, 8, 16, 22, 32, 45, 64, 90, 128, 256, 400)


def relative_error(block: LearnedBlock, samples: Samples) -> float:
    """‖L_θ(u) − L(u)‖ / ‖L(u)‖ over all samples and points."""
    with torch.no_grad():
        wanted = samples.wanted(block)
        return float((samples.predicted(block) - wanted).norm() / wanted.norm().clamp_min(1e-300))


def by_amplitude(block: LearnedBlock, recipe: Recipe, basis: Basis, held_out: Samples) -> list[Bin]:
    """Error per range of max|u|: fresh states where a reference is known, else the held-out samples sorted."""
    if recipe.data is not None:
        return _bins(block, _sorted(held_out, recipe.fields[0]))
    generator = torch.Generator().manual_seed(recipe.seed + 77)
    edges = _edges(*recipe.states.amplitude)
    drawn = (random_states(basis, recipe.states, recipe.fields, 8, generator, edge) for edge in edges)
    return _bins(block, ((*edge, states) for edge, states in zip(edges, drawn, strict=True)))


def by_wavenumber(block: LearnedBlock, recipe: Recipe, basis: Basis) -> list[Bin]:
    """Error of single modes per range of |k|; empty without a reference."""
    if recipe.data is not None:
        return []
    generator = torch.Generator().manual_seed(recipe.seed + 78)
    amplitude = math.sqrt(recipe.states.amplitude[0] * recipe.states.amplitude[1])
    largest = basis.bandwidth / math.pi
    parts = []
    for low, high in pairwise([k for k in _WAVENUMBERS if k < largest * (1 - 1e-9)] + [largest]):
        inclusive = high * (1 + 1e-9) if high == largest else high
        parts.append((low, high, single_modes(basis, recipe.fields, low, inclusive, amplitude, generator)))
    return _bins(block, parts)


def _bins(block: LearnedBlock, parts: Iterable[tuple[float, float, Samples | None]]) -> list[Bin]:
    """A bin for every part with states whose response is not zero: there a relative error means something."""
    bins = []
    for low, high, samples in parts:
        if samples is None:
            continue
        with torch.no_grad():
            wanted = samples.wanted(block)
        if wanted.any():
            bins.append(Bin(low=low, high=high, error=relative_error(block, replace(samples, target=wanted))))
    return bins


def _edges(low: float, high: float) -> list[tuple[float, float]]:
    """Ranges of equal ratio from ``low`` to ``high``; one if they are close together."""
    count = 6 if high > 1.5 * low else 1
    inner = [low * (high / low) ** (i / count) for i in range(1, count)]
    return list(pairwise([low, *inner, high]))


def _sorted(samples: Samples, field: str) -> list[tuple[float, float, Samples]]:
    """The samples sorted by max|u|; ranges without any are left out."""
    size = samples.amplitude(field)
    positive = size[size > 0]
    if not len(positive):
        return []
    edges = _edges(float(positive.min()), float(positive.max()))
    parts = []
    for i, (a, b) in enumerate(edges):
        below = size <= b if i + 1 == len(edges) else size < b
        index = torch.nonzero((size >= a) & below).flatten()
        if len(index):
            parts.append((a, b, samples.part(index)))
    return parts
