"""The kinds of this pack by name, for domains nested in other domains."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from gleg_core.capabilities import DomainCapabilities, capabilities
from gleg_core.errors import did_you_mean, listing
from gleg_core.pack import Entry
from gleg_core.spec.params import PackParams
from gleg_domains.pack import gleg_domains


def load(address: str) -> Any:
    module, name = address.split(":")
    return getattr(import_module(module), name)


def _plane() -> dict[str, Entry]:
    return {e.name: e for e in gleg_domains() if capabilities(DomainCapabilities, e.capabilities).dim == 2}


def plane_kinds() -> list[str]:
    return list(_plane())


def _entry(kind: str) -> Entry:
    table = _plane()
    if kind not in table:
        raise ValueError(
            f"no plane domain is called {kind!r} in this pack. Kinds: {listing(table, 40)}."
            f"{did_you_mean(str(kind), table)}"
        )
    return table[kind]


def params_of(kind: str) -> type[PackParams]:
    return load(_entry(kind).params)


def factory_of(kind: str) -> Callable[[PackParams], Any]:
    return load(_entry(kind).factory)
