"""Training a learned block by a recipe: the same path for every pack."""

from __future__ import annotations

import hashlib
import importlib
import json
import math
import platform
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gleg_core.contracts.block import Binding
from gleg_core.contracts.learned import LearnedBlock
from gleg_core.errors import PackError, SpecError
from gleg_core.learning import checkpoint
from gleg_core.learning.card import Card
from gleg_core.learning.certify import by_amplitude, by_wavenumber, relative_error
from gleg_core.learning.optimise import iterations
from gleg_core.learning.recipe import Recipe
from gleg_core.learning.samples import Samples, make_basis, measured, random_states
from gleg_core.learning.weights import card_path, encode, weight_path
from gleg_core.pack import CONTRACT
from gleg_core.registry import Component, Registry
from gleg_core.spec.params import Scope

_CHECKPOINT_EVERY = 5
Progress = Callable[[int, int, float], None]
"""Called with (iteration, most iterations, best held-out error)."""


@dataclass(frozen=True)
class Trained:
    """A trained block and its card; the files are ``stem.safetensors`` and ``stem.card.json``."""

    block: LearnedBlock
    card: Card
    stem: Path
    resumed_at: int


def learned_class(registry: Registry, key: str) -> tuple[Component, type[LearnedBlock]]:
    """The class that the block's entry names under ``learned``."""
    component = registry.find("block", key)
    reference = component.entry.capabilities.get("learned")
    if not isinstance(reference, str):
        raise SpecError(
            f"the block '{component.key}' is not learned: there is nothing to train. gleg blocks lists those that are"
        )
    module, _, name = reference.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise PackError(
            f"block '{component.key}' of {component.pack}: '{reference}' cannot be imported: {error}"
        ) from None
    return component, found


def untrained(registry: Registry, recipe: Recipe) -> tuple[Component, LearnedBlock]:
    """The block of a recipe with initial parameters."""
    component, kind = learned_class(registry, recipe.block)
    scope = Scope(dim=recipe.states.dim, fields=recipe.fields)
    params = registry.params(component).model_validate(recipe.params, context=scope)
    torch.manual_seed(recipe.seed)
    return component, kind.untrained(params, Binding(recipe.fields[0], recipe.fields, recipe.states.dim))


def split_samples(registry: Registry, recipe: Recipe, folder: Path) -> tuple[Samples, Samples]:
    """(training, held-out) samples of a recipe; relative data paths start at ``folder``."""
    basis = make_basis(registry, recipe.states)
    generator = torch.Generator().manual_seed(recipe.seed)
    if recipe.data is None:
        law = recipe.states
        first = random_states(basis, law, recipe.fields, law.count, generator, law.amplitude)
        return first, random_states(basis, law, recipe.fields, law.held_out, generator, law.amplitude)
    samples = measured(basis, recipe.data, recipe.fields[0], folder)
    order = torch.randperm(len(samples), generator=generator)
    cut = max(1, round(recipe.data.held_out * len(samples)))
    return samples.part(order[cut:]), samples.part(order[:cut])


def train(
    registry: Registry,
    recipe: Recipe,
    stem: Path,
    folder: Path,
    progress: Progress = lambda i, n, e: None,
    fresh: bool = False,
) -> Trained:
    """Train, certify, and write weights and card; a killed training goes on from its last checkpoint unless ``fresh``."""
    component, block = untrained(registry, recipe)
    training, held_out = split_samples(registry, recipe, folder)
    resumed = _optimise(block, recipe, training, held_out, stem, progress, fresh)
    block.prune()
    block.module.requires_grad_(False)
    card, data = _card(component, block, recipe, training, held_out)
    checkpoint.write_atomically(weight_path(stem), data)
    checkpoint.write_atomically(card_path(stem), (card.model_dump_json(indent=1) + "\n").encode())
    _checkpoint_path(stem).unlink(missing_ok=True)
    return Trained(block, card, stem, resumed)


def _checkpoint_path(stem: Path) -> Path:
    return stem.with_name(stem.name + ".checkpoint")


def _optimise(
    block: LearnedBlock,
    recipe: Recipe,
    training: Samples,
    held_out: Samples,
    stem: Path,
    progress: Progress,
    fresh: bool,
) -> int:
    """Run the optimiser with early stop; the parameters with the best held-out error remain. Returns the iteration resumed at."""
    residual = _residual(block, training)
    identity = hashlib.sha256(recipe.model_dump_json().encode()).hexdigest()
    saved = None if fresh else checkpoint.load(_checkpoint_path(stem))
    if saved is None or saved["recipe"] != identity:
        saved = {"recipe": identity, "iteration": 0, "best": math.inf, "since": 0, "state": {}}
        saved["parameters"] = saved["best_parameters"] = dict(block.module.state_dict())
    block.module.load_state_dict(saved["parameters"])
    first, most = int(saved["iteration"]), recipe.optimiser.iterations
    best, since, best_parameters = saved["best"], saved["since"], saved["best_parameters"]
    steps = iterations(recipe.optimiser, block.module, residual, len(training), recipe.seed, saved["state"])
    for i in range(first, most):
        next(steps)
        error = relative_error(block, held_out)
        since = 0 if error < best * (1 - 1e-3) else since + 1
        if error < best:
            best, best_parameters = error, {k: v.detach().clone() for k, v in block.module.state_dict().items()}
        progress(i + 1, most, best)
        if since >= recipe.optimiser.patience or not math.isfinite(error):
            break
        if (i + 1) % _CHECKPOINT_EVERY == 0:
            now = {"iteration": i + 1, "best": best, "since": since, "best_parameters": best_parameters}
            checkpoint.save(_checkpoint_path(stem), saved | now | {"parameters": dict(block.module.state_dict())})
    block.module.load_state_dict(best_parameters)
    return first


def _residual(block: LearnedBlock, training: Samples) -> Callable[[Tensor | None], Tensor]:
    """(L_θ(u) − L(u)) divided by the size of L(u) state by state, so that small amplitudes count as much as large ones."""
    with torch.no_grad():
        wanted = training.wanted(block)
        scale = wanted.pow(2).mean(dim=1, keepdim=True).sqrt().clamp_min(1e-300) * math.sqrt(wanted.numel())

    def residual(index: Tensor | None) -> Tensor:
        if index is None:
            return ((training.predicted(block) - wanted) / scale).reshape(-1)
        return ((training.part(index).predicted(block) - wanted[index]) / scale[index]).reshape(-1)

    return residual


def _card(
    component: Component, block: LearnedBlock, recipe: Recipe, training: Samples, held_out: Samples
) -> tuple[Card, bytes]:
    data = encode(block.module)
    basis = training.basis
    kept: dict[str, Any] = json.loads(recipe.model_dump_json())
    card = Card(
        block=component.key,
        summary=component.entry.summary,
        contract=CONTRACT,
        structure=block.traits.structure,
        order=block.traits.order,
        degree=block.traits.degree,
        target="reference" if recipe.data is None else f"data: {Path(recipe.data.path).name} ({recipe.data.kind})",
        shapes={name: list(t.shape) for name, t in block.module.state_dict().items()},
        sha256=hashlib.sha256(data).hexdigest(),
        size=len(data),
        recipe=kept,
        held_out=relative_error(block, held_out),
        by_amplitude=by_amplitude(block, recipe, basis, held_out),
        by_wavenumber=by_wavenumber(block, recipe, basis),
        amplitude=recipe.certify or recipe.states.amplitude[1],
        wavenumber=float(basis.bandwidth / math.pi),
        samples=len(training) * training.points.shape[0],
        licence=recipe.licence,
        versions={"python": platform.python_version(), "torch": version("torch"), "gleg-core": version("gleg-core")},
    )
    return card, data
