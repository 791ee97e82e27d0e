"""``gleg doctor``: is this installation fit to work?"""

import os
import platform
import sys

import click

from gleg_core import __version__
from gleg_core.pack import CONTRACT, CONTRACTS
from gleg_core.registry import default_registry
from gleg_core.registry.records import one_line


@click.command()
def doctor() -> None:
    """Check this installation: packs, versions, threads, cache."""
    sys.exit(examine())


def examine() -> int:
    """Print findings; the result is the number of problems, at most 1 as an exit code."""
    problems = sum(check() for check in (_versions, _products, _packs, _contracts, _components, _cache))
    click.echo("all is well" if not problems else f"{problems} problem{'s' * (problems > 1)} found")
    return min(problems, 1)


def _say(good: bool, text: str) -> int:
    click.secho("ok  " if good else "BAD ", fg="green" if good else "red", nl=False)
    click.echo(text)
    return 0 if good else 1


def _versions() -> int:
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    contract = ".".join(map(str, CONTRACT))
    return _say(
        True,
        f"gleg-core {__version__}, contract {contract}, Python {platform.python_version()}, torch {torch.__version__}, "
        f"{torch.get_num_threads()} threads, {device}",
    )


def _products() -> int:
    """The library that multiplies matrices: kernels for another processor than this one make all runs slower."""
    import numpy  # noqa: F401 (brings the library)
    from threadpoolctl import threadpool_info

    found = [
        f"{lib['internal_api']} {lib['version']}, kernels for {lib.get('architecture', 'any processor')}, {lib['num_threads']} threads"
        for lib in threadpool_info()
        if lib["user_api"] == "blas"
    ]
    return _say(True, f"products of matrices: {found[0]}") if found else 0


def _packs() -> int:
    registry = default_registry()
    _say(True, f"{len(registry.packs)} packs: {', '.join(p.id for p in registry.packs)}")
    return sum(_say(False, str(failure)) for failure in registry.failures)


def _contracts() -> int:
    registry = default_registry()
    missing = [c for c in CONTRACTS if c != "dictionary" and not registry.entries(c)]
    return sum(_say(False, f"no installed pack provides any {c}: pip install gleg") for c in missing)


def _components() -> int:
    """Every component's parameters and factory can be imported, and its examples validate."""
    from gleg_core.spec.params import Scope

    registry = default_registry()
    bad = 0
    for contract in CONTRACTS:
        for key, component in registry.entries(contract).items():
            try:
                model, _ = registry.params(component), registry.factory(component)
                dim = getattr(component.entry.capabilities, "dim", 2)
                for example in component.entry.examples:
                    model.model_validate(dict(example), context=Scope(dim=dim))
            except Exception as error:
                bad += _say(False, f"{contract} {key}: {one_line(error)}")
    return bad or _say(True, "every component imports and its examples validate")


def _cache() -> int:
    from gleg_core.folders import cache_folder

    folder = cache_folder()
    if folder is None:
        return _say(True, "cache is off (GLEG_CACHE)")
    files = list(folder.glob("*.safetensors")) if folder.is_dir() else []
    size = sum(f.stat().st_size for f in files) / 2**20
    writable = os.access(next(p for p in (folder, *folder.parents) if p.exists()), os.W_OK)
    text = f"cache {folder}: {len(files)} spaces, {size:.0f} MB"
    return _say(writable, text if writable else f"{text}, not writable: set GLEG_CACHE to another folder, or to off")
