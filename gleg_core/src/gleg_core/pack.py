"""What a pack's entry-point module needs, and nothing heavier.

A pack is an installed distribution with one entry point in the group ``gleg.packs``. The entry point's
name is the pack id, its value a *light* module: it imports only this file, states the contract version it
was written against, and lists its components as :class:`Entry` records whose heavy parts are strings::

    from gleg_core.pack import Entry, hookimpl

    CONTRACT = (3, 0)

    @hookimpl
    def gleg_blocks():
        return [Entry("logistic", "Logistic growth r u (1 − u/c)",
                      params="my_pack.kinetics:LogisticParams", factory="my_pack.kinetics:Logistic")]

Importing this module imports neither torch nor numpy nor pydantic, so a thousand packs can be listed quickly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import pluggy

CONTRACT: tuple[int, int] = (3, 0)
"""(major, minor) of the contracts in this core. Another major, or a newer minor, is refused."""

ENTRY_POINT_GROUP = "gleg.packs"

hookspec = pluggy.HookspecMarker("gleg")
hookimpl = pluggy.HookimplMarker("gleg")

CONTRACT_HOOKS: Mapping[str, str] = MappingProxyType(
    {
        "basis": "gleg_bases",
        "block": "gleg_blocks",
        "boundary": "gleg_boundary_operators",
        "integrator": "gleg_integrators",
        "dictionary": "gleg_dictionaries",
        "domain": "gleg_domains",
    }
)
"""Contract name → the hook that lists its components."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One component offered by a pack; imported only when a problem file names it.

    ``params`` is ``"module:PydanticModel"`` for the component's keys in a problem file and ``factory`` is
    ``"module:callable"``; what the factory is called with is documented with each contract.
    ``capabilities`` is free, JSON-like metadata shown in listings (for a block: structure, order, degree).
    ``examples`` are parameter dictionaries that must validate.
    """

    name: str
    summary: str
    params: str
    factory: str
    capabilities: Mapping[str, object] = field(default_factory=dict)
    examples: tuple[Mapping[str, object], ...] = ()
