"""gleg: partial differential equations on any domain, from mechanisms that come in packs.

    import gleg
    run = gleg.solve("lake.yaml", constants={"r": 1.2})
    run.plot(); run.u(x, y, t); run.dataset

Names come from whatever pack provides them (``gleg_names``), when they are first used: importing this module imports nothing heavy.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from gleg_core import __version__ as __version__

if TYPE_CHECKING:
    from gleg_core.errors import GlegError as GlegError
    from gleg_core.registry import default_registry as default_registry
    from gleg_core.run import Run as Run
    from gleg_core.solver import solve as solve
    from gleg_core.spec.problem import load_problem as load

_CORE = {
    "GlegError": "gleg_core.errors:GlegError",
    "Run": "gleg_core.run:Run",
    "default_registry": "gleg_core.registry:default_registry",
    "load": "gleg_core.spec.problem:load_problem",
    "solve": "gleg_core.solver:solve",
}
__all__ = ["GlegError", "Run", "default_registry", "load", "solve"]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if name in _CORE:
        module, _, attribute = _CORE[name].partition(":")
        found = getattr(import_module(module), attribute)
    else:
        from gleg_core.errors import did_you_mean
        from gleg_core.registry import default_registry
        from gleg_core.registry.absent import refused

        registry = default_registry()
        if (offered := registry.tool("gleg_names", name)) is None:
            unknown = f"module 'gleg' has no attribute '{name}'.{did_you_mean(name, __dir__())}{refused(registry)}"
            # ``from gleg import NAME`` shows the words of an ImportError only, and everything else expects an AttributeError
            imported = sys._getframe(1).f_code.co_name == "_handle_fromlist"
            raise (ImportError if imported else AttributeError)(registry.missing("gleg_names", name) or unknown)
        found = registry.target(offered)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    from gleg_core.registry import default_registry

    return sorted({*__all__, "__version__", *(o.tool.name for o in default_registry().tools("gleg_names"))})
