"""How good a trained block is: held-out errors globally, per amplitude and per wavenumber."""

from __future__ import annotations

import math
from itertools import pairwise

import torch

from gleg_core.contracts.basis import Basis
from gleg_core.contracts.learned import LearnedBlock
from gleg_core.learning.card import Bin
from gleg_core.learning.recipe import Recipe
from gleg_core.learning.samples import Samples, random_states, single_modes

_AMPLITUDE_BINS = 6
_WAVENUMBERS = (0.5, 2, 4, 8, 16, 22, 32, 45, 64, 90, 128, 256, 400)


def relative_error(block: LearnedBlock, samples: Samples) -> float:
    """‖L_θ(u) − L(u)‖ / ‖L(u)‖ over all samples and points."""
    with torch.no_grad():
        wanted = samples.wanted(block)
        return float((samples.predicted(block) - wanted).norm() / wanted.norm().clamp_min(1e-300))


def by_amplitude(block: LearnedBlock, recipe: Recipe, basis: Basis, held_out: Samples) -> list[Bin]:
    """Error per range of max|u|: fresh states where a reference is known, else the held-out samples sorted."""
    low, high = recipe.states.amplitude
    edges = torch.logspace(math.log10(low), math.log10(high), _AMPLITUDE_BINS + 1, dtype=torch.float64).tolist()
    generator = torch.Generator().manual_seed(recipe.seed + 77)
    bins = []
    for a, b in pairwise(edges):
        if recipe.data is None:
            samples = random_states(basis, recipe.states, recipe.fields, 8, generator, (a, b))
        else:
            size = held_out.amplitude(recipe.fields[0])
            index = torch.nonzero((size >= a) & (size < b)).flatten()
            if not len(index):
                continue
            samples = held_out.part(index)
        bins.append(Bin(low=a, high=b, error=relative_error(block, samples)))
    return bins


def by_wavenumber(block: LearnedBlock, recipe: Recipe, basis: Basis) -> list[Bin]:
    """Error of single modes per range of |k|; empty without a reference."""
    if recipe.data is not None:
        return []
    generator = torch.Generator().manual_seed(recipe.seed + 78)
    amplitude = math.sqrt(recipe.states.amplitude[0] * recipe.states.amplitude[1])
    bins = []
    largest = basis.bandwidth / math.pi
    for low, high in pairwise([k for k in _WAVENUMBERS if k < largest] + [largest]):
        samples = single_modes(basis, recipe.fields, low, high + 1e-9, amplitude, generator)
        if samples is not None:
            bins.append(Bin(low=low, high=high, error=relative_error(block, samples)))
    return bins
