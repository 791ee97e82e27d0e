"""The core of gleg: contracts, registry, problem files, algebra, and the solver that leads from a problem to its trajectory.

People import :mod:`gleg`; packs import the modules that :mod:`gleg_core.public` lists.
"""

__version__ = "0.2.0"
