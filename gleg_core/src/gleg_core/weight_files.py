"""Where the files of a learned block are. Torch is not imported."""

import importlib.util
from pathlib import Path

from gleg_core.errors import PackError


def locate(reference: str) -> Path:
    """``"package:file"`` → its path in that installed package; a plain path stays one."""
    package, _, name = reference.partition(":")
    if not name or not all(map(str.isidentifier, package.split("."))) or Path(reference).is_absolute():
        return Path(reference)
    try:
        spec = importlib.util.find_spec(package)
    except ImportError:
        spec = None
    if spec is None or not spec.submodule_search_locations:
        raise PackError(f"'{reference}': there is no installed package '{package}'")
    return Path(next(iter(spec.submodule_search_locations))) / name


def weight_path(stem: Path) -> Path:
    """Of the weights."""
    return stem.with_name(stem.name + ".safetensors")


def card_path(stem: Path) -> Path:
    """Of the card beside them."""
    return stem.with_name(stem.name + ".card.json")
