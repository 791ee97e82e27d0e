"""Training a learned block by a recipe: the same path for every pack."""

import hashlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gleg_core.atomic import write_bytes, write_text
from gleg_core.contracts.learned import LearnedBlock
from gleg_core.errors import GlegError, NumericsError, OutputError, PackError, SpecError
from gleg_core.registry import Component, Registry
from gleg_core.spec.blame import pack_failed
from gleg_core.weight_files import card_path, weight_path
from gleg_core.weights.card import Card
from gleg_core.weights.load import encode, fingerprint
from gleg_learning import checkpoint
from gleg_learning.blocks import learned_class, untrained
from gleg_learning.certify import relative_error
from gleg_learning.measured import measured
from gleg_learning.optimise import Residual, iterations
from gleg_learning.recipe import Recipe, basis_of
from gleg_learning.samples import Samples, make_basis, random_states
from gleg_learning.write_card import make_card

__all__ = ["Trained", "learned_class", "split_samples", "train", "untrained"]

_KEPT = {"identity", "iteration", "best", "since", "state", "parameters", "best_parameters"}
Progress = Callable[[int, int, float], None]
"""Called with (iteration, most iterations, best held-out error)."""
Say = Callable[[str], None]
"""Called with a sentence the user should read."""


@dataclass(frozen=True)
class Trained:
    """A trained block and its card; the files are ``stem.safetensors`` and ``stem.card.json``."""

    block: LearnedBlock
    card: Card
    stem: Path
    resumed_at: int
    iterations: int
    stopped_early: bool


def split_samples(registry: Registry, recipe: Recipe, folder: Path) -> tuple[Samples, Samples]:
    """(training, held-out) samples of a recipe; relative data paths start at ``folder``."""
    basis = make_basis(registry, recipe.states)
    generator = torch.Generator().manual_seed(recipe.seed)
    if recipe.data is not None:
        return measured(basis, recipe.data, recipe.fields, folder, generator)
    law = recipe.states
    first = random_states(basis, law, recipe.fields, law.count, generator, law.amplitude)
    return first, random_states(basis, law, recipe.fields, law.held_out, generator, law.amplitude)


def train(
    registry: Registry,
    recipe: Recipe,
    stem: Path,
    folder: Path,
    progress: Progress = lambda i, n, e: None,
    fresh: bool = False,
    say: Say = lambda sentence: None,
) -> Trained:
    """Train, certify, and write weights and card; a killed training goes on from its last checkpoint unless ``fresh``."""
    states = recipe.states.model_copy(update={"basis": basis_of(recipe.states, registry)})
    recipe = recipe.model_copy(update={"states": states})  # the card tells what the block was trained with
    component, block = untrained(registry, recipe)
    training, held_out = split_samples(registry, recipe, folder)
    _make_folder(stem)
    fitted, judged = (replace(s, target=_targets(component, block, s)) for s in (training, held_out))
    identity = _identity(block, recipe, training, held_out)
    saved = _start(block, identity, checkpoint.checkpoint_path(stem), fresh, say)
    first = int(saved["iteration"])
    done = _optimise(block, recipe, fitted, judged, saved, checkpoint.checkpoint_path(stem), progress)
    block.prune()
    block.module.requires_grad_(False)
    data = encode(block.module)
    card = make_card(component, block, recipe, training, held_out, data)
    write_bytes(weight_path(stem), data)
    write_text(card_path(stem), card.model_dump_json(indent=1) + "\n")
    checkpoint.checkpoint_path(stem).unlink(missing_ok=True)
    return Trained(block, card, stem, first, done, done < recipe.optimiser.iterations)


def _make_folder(stem: Path) -> None:
    """Find out before hours of work whether the result can be written."""
    probe = stem.with_name(f".{stem.name}.probe")
    try:
        write_bytes(probe, b"")
        probe.unlink()
    except OSError as error:
        raise OutputError(f"{stem.parent}: cannot be written to: {error.strerror or error}") from None


def _targets(component: Component, block: LearnedBlock, samples: Samples) -> Tensor:
    """What the responses are compared with, after a first evaluation of both: mistakes of a block show here."""
    try:
        with torch.no_grad():
            wanted = samples.wanted(block)
    except (NotImplementedError, PackError) as error:
        raise SpecError(
            f"{component.key} gives no reference to train on ({error}). Give the recipe 'data', a file of measured responses"
        ) from None
    except Exception as error:
        raise pack_failed(component.key, component.pack, "to evaluate its reference", error) from error
    try:
        predicted = samples.predicted(block)
    except GlegError:
        raise
    except Exception as error:
        raise pack_failed(component.key, component.pack, "to evaluate its response", error) from error
    if predicted.shape != wanted.shape:
        raise PackError(
            f"{component.key}: its response has shape {tuple(predicted.shape)}, the target has {tuple(wanted.shape)}"
        )
    if not predicted.requires_grad:
        raise PackError(f"{component.key}: its response does not depend on its parameters, or is cut off from them")
    if not torch.isfinite(wanted).all():
        raise NumericsError(f"{component.key}: the responses to train on are not finite; narrow states.amplitude")
    if not wanted.any():
        raise SpecError(f"{component.key}: the responses to train on are all zero: nothing can be learned from them")
    return wanted


def _start(block: LearnedBlock, identity: str, path: Path, fresh: bool, say: Say) -> dict[str, Any]:
    """The state to start from: the checkpoint of the same training, else the beginning."""
    if path.exists() and not fresh:
        saved = checkpoint.load(path)
        if saved is None or not saved.keys() >= _KEPT:
            say(f"{path} is not a usable checkpoint and is ignored: training starts anew")
        elif saved["identity"] != identity:
            say(f"{path} belongs to another recipe, other data or another version of the block: training starts anew")
        else:
            say(f"going on from {path}, after iteration {saved['iteration']}")
            return saved
    parameters = _copied(block.module)
    return {"identity": identity, "iteration": 0, "best": math.inf, "since": 0, "state": {},
            "parameters": parameters, "best_parameters": parameters}  # fmt: skip


def _identity(block: LearnedBlock, recipe: Recipe, training: Samples, held_out: Samples) -> str:
    """A hash of everything the course of a training depends on: recipe, initial parameters, data."""
    h = hashlib.sha256(recipe.model_dump_json().encode() + fingerprint(block.module).encode())
    for samples in (training, held_out):
        tensors = [samples.points, *(a for _, states in samples.stencil for a in states.values())]
        for tensor in tensors if samples.target is None else [*tensors, samples.target]:
            h.update(tensor.contiguous().numpy().tobytes())
    return h.hexdigest()


def _copied(module: torch.nn.Module) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in module.state_dict().items()}


def _optimise(
    block: LearnedBlock,
    recipe: Recipe,
    training: Samples,
    held_out: Samples,
    saved: dict[str, Any],
    path: Path,
    progress: Progress,
) -> int:
    """Run the optimiser with early stop; the parameters with the best held-out error remain. Returns the last iteration."""
    block.module.load_state_dict(saved["parameters"])
    chosen, i = recipe.optimiser, int(saved["iteration"])
    residual = _residual(block, training)
    steps = iterations(chosen, block.module, residual, len(training), recipe.seed, saved["state"])
    written = time.monotonic()
    while i < chosen.iterations and saved["since"] < chosen.patience:
        try:
            next(steps)
        except NumericsError as error:
            raise _left_the_numbers(recipe, i + 1, str(error)) from None
        i += 1
        error_now = relative_error(block, held_out)
        if not math.isfinite(error_now):
            raise _left_the_numbers(recipe, i, "the held-out error is not finite")
        progressed = error_now < (1 - 1e-3) * saved["best"]  # less of a decrease does not put off the early stop
        saved["since"] = 0 if progressed else saved["since"] + 1
        if error_now < saved["best"]:
            saved |= {"best": error_now, "best_parameters": _copied(block.module)}
        if i % 5 == 0 or time.monotonic() - written > 2.0:
            checkpoint.save(path, saved | {"iteration": i, "parameters": _copied(block.module)})
            written = time.monotonic()
        progress(i, chosen.iterations, saved["best"])
    block.module.load_state_dict(saved["best_parameters"])
    return i


def _left_the_numbers(recipe: Recipe, iteration: int, what: str) -> NumericsError:
    return NumericsError(
        f"{recipe.block}: training failed in iteration {iteration}: {what}. "
        f"Lower optimiser.rate (adam, lbfgs), narrow states.amplitude, or try another optimiser.kind"
    )


def _residual(block: LearnedBlock, training: Samples) -> Residual:
    """(L_θ(u) − L(u)) divided by the size of L(u) state by state, so that small amplitudes count as much as large ones."""
    wanted = training.wanted(block)
    sizes = wanted.pow(2).mean(dim=1, keepdim=True).sqrt()
    least = 1e-12 * float(sizes.max())  # a state without response counts by its absolute error
    scale = torch.where(sizes > least, sizes, sizes.max()) * math.sqrt(wanted.numel())

    def residual(index: Tensor | None) -> Tensor:
        part, size = (training, scale) if index is None else (training.part(index), scale[index])
        return ((part.predicted(block) - part.wanted(block)) / size).reshape(-1)

    return residual
