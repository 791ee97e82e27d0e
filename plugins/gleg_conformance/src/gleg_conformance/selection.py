"""Which components a name given to the kit means."""

from gleg_core.errors import PackError, did_you_mean, listing
from gleg_core.pack import CONTRACTS
from gleg_core.registry import Component, Registry


def components_of(name: str, registry: Registry) -> list[Component]:
    """All components of a pack (by id or distribution), or the one whose full key is given; an error if there is none."""
    everything = [c for contract in CONTRACTS for c in registry.entries(contract).values()]
    found = [c for c in everything if name in (c.pack.id, c.key, c.pack.distribution)]
    if found:
        return found
    failed = [str(f) for f in registry.failures if name in (f.pack, f.distribution)]
    packs = {c.pack.id for c in everything}
    hint = did_you_mean(name, packs | {c.key for c in everything})
    told = "\n".join(failed) or f"Installed packs: {listing(packs)}"
    raise PackError(f"there is nothing to check under the name '{name}'.{hint} {told}")
