"""Which packs are installed, what they offer, and why some of them cannot be used.

    registry = default_registry()
    registry.packs                                    # packs that can be used
    registry.failures                                 # packs that were refused, with reason and remedy
    block = registry.find("block", "diffusion")       # 'pack:name', or a bare name
    registry.params(block), registry.factory(block)   # only now the component's own modules are imported
    registry.tools("gleg_commands")                   # what packs list under any hook

Discovery reads the metadata of installed distributions and imports the light entry modules of packs; it never imports
torch, numpy or pydantic. A pack is taken as a whole or refused as a whole, and a refused pack never stops the others.
"""

from gleg_core.registry.lookup import Registry, default_registry
from gleg_core.registry.records import Component, Failure, Offered, OfferedKeys, Pack

__all__ = ["Component", "Failure", "Offered", "OfferedKeys", "Pack", "Registry", "default_registry"]
