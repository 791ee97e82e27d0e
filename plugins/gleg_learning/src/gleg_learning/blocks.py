"""Learned blocks by their keys: the class, a block before training, a block with weights."""

import importlib
from functools import reduce

import torch
from pydantic import ValidationError

from gleg_core.capabilities import BlockCapabilities
from gleg_core.contracts.block import Binding
from gleg_core.contracts.learned import LearnedBlock
from gleg_core.errors import GlegError, PackError, SpecError
from gleg_core.registry import Component, Registry
from gleg_core.registry.records import one_line
from gleg_core.spec.blame import pack_failed
from gleg_core.weight_files import card_path, locate
from gleg_core.weights.card import Card, read_card
from gleg_core.weights.load import load_frozen
from gleg_learning.recipe import Recipe, check_recipe


def learned_class(registry: Registry, key: str) -> tuple[Component, type[LearnedBlock]]:
    """The class that the block's entry names under ``learned``."""
    component = registry.find("block", key)
    reference = component.capabilities(BlockCapabilities).learned
    if reference is None:
        raise SpecError(
            f"the block '{component.key}' is not learned: there is nothing to train. gleg blocks lists those that are"
        )
    module, _, name = reference.partition(":")
    where = f"block '{component.key}' of {component.pack}: '{reference}'"
    try:
        found = reduce(getattr, name.split("."), importlib.import_module(module))
    except Exception as error:
        raise PackError(f"{where} cannot be imported: {one_line(error)}") from error
    if not (isinstance(found, type) and issubclass(found, LearnedBlock)):
        raise PackError(f"{where} is not a class derived from LearnedBlock")
    return component, found


def untrained(registry: Registry, recipe: Recipe) -> tuple[Component, LearnedBlock]:
    """The block of a recipe with initial parameters, the same for the same seed."""
    component, kind = learned_class(registry, recipe.block)
    params, _ = check_recipe(recipe, registry)
    binding = Binding(recipe.fields[0], recipe.fields, recipe.states.dim)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(recipe.seed)
            block = kind.untrained(params, binding)
        state = block.module.state_dict()
    except GlegError:
        raise
    except Exception as error:
        raise pack_failed(component.key, component.pack, "to make an untrained block", error) from error
    if not state or not block.trainable:
        raise PackError(f"{component.key}: the untrained block has no parameters that require gradients")
    if wrong := [name for name, tensor in state.items() if tensor.dtype != torch.float64]:
        raise PackError(f"{component.key}: its parameter '{wrong[0]}' is not double precision (torch.float64)")
    return component, block


def with_weights(registry: Registry, key: str, reference: str) -> tuple[LearnedBlock, Card]:
    """A block as its card describes it, frozen, with the weights at ``reference`` ("package:stem" or a path)."""
    component, _ = learned_class(registry, key)
    card = read_card(card_path(locate(reference)), component.key)
    try:
        recipe = Recipe.model_validate(card.recipe)
    except ValidationError as error:
        raise PackError(f"{component.key}: the recipe on its card cannot be used: {one_line(error)}") from None
    _, block = untrained(registry, recipe)
    return block, load_frozen(block.module, reference, component.key, block=component.key)
