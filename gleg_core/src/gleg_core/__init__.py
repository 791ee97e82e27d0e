"""gleg: time-dependent PDEs on any domain, from mechanisms that come in packs.

    import gleg_core as gleg
    run = gleg.solve("lake.yaml", constants={"r": 1.2})
    run.plot(); run.u(x, y, t); run.dataset

Importing this package is cheap: torch is imported when something is solved.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gleg_sweeps.ensembles import Ensemble as Ensemble
    from gleg_sweeps.ensembles import ensemble as ensemble
    from gleg_core.errors import GlegError as GlegError
    from gleg_core.registry import default_registry as default_registry
    from gleg_core.run import Run as Run
    from gleg_core.solution_map import SolutionMap as SolutionMap
    from gleg_core.solver import solve as solve
    from gleg_core.spec.problem import load_problem as load_problem

_EXPORTS = {
    "Ensemble": "gleg_sweeps.ensembles",
    "GlegError": "gleg_core.errors",
    "Run": "gleg_core.run",
    "SolutionMap": "gleg_core.solution_map",
    "default_registry": "gleg_core.registry",
    "ensemble": "gleg_sweeps.ensembles",
    "load_problem": "gleg_core.spec.problem",
    "solve": "gleg_core.solver",
}
__all__ = ["Ensemble", "GlegError", "Run", "SolutionMap", "default_registry", "ensemble", "load_problem", "solve"]
__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    if name in _EXPORTS:
        return getattr(import_module(_EXPORTS[name]), name)
    raise AttributeError(f"module 'gleg_core' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *_EXPORTS])
