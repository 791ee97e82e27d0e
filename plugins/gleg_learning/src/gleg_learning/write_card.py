"""Making the card of a block that has just been trained."""

import hashlib
import json
import math
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

from gleg_core.contracts.learned import LearnedBlock
from gleg_core.pack import CONTRACT
from gleg_core.registry import Component
from gleg_core.weights.card import Card
from gleg_learning.certify import by_amplitude, by_wavenumber, relative_error
from gleg_learning.recipe import Recipe
from gleg_learning.samples import Samples


def make_card(
    component: Component, block: LearnedBlock, recipe: Recipe, training: Samples, held_out: Samples, data: bytes
) -> Card:
    """The card that belongs to the weights file ``data``."""
    basis = training.basis
    kept: dict[str, Any] = json.loads(recipe.model_dump_json())
    return Card(
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
        amplitude=recipe.certify or _largest(recipe, training),
        wavenumber=float(basis.bandwidth / math.pi),
        samples=len(training) * training.points.shape[0],
        licence=recipe.licence,
        versions={"python": platform.python_version(), "torch": version("torch"), "gleg-core": version("gleg-core")},
    )


def _largest(recipe: Recipe, training: Samples) -> float:
    """The largest max|u| the block was trained on: by the law, or in the data."""
    if recipe.data is None:
        return recipe.states.amplitude[1]
    return max(float(training.amplitude(name).max()) for name in recipe.fields)
