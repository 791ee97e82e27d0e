"""The shortest way to write a mechanism: a plain function with a decorator.

    from gleg_core.mechanisms import Positive, blocks, pointwise

    CONTRACT = (3, 0)

    @pointwise("Logistic growth r u (1 − u/c)", degree=2)
    def logistic(u, *, rate: Positive, capacity: Positive = 1.0):
        return rate * u * (1 - u / capacity)

    gleg_blocks = blocks(logistic)

is the whole entry module of a pack. Positional arguments are what the function reads, by name: ``u`` the field of the equation (any
name will do for the first one), further names other fields, ``grad_u`` a gradient (a tuple of tensors), ``laplacian_u``,
``x y z t`` where and when, ``net`` a trained module. Keyword arguments are its parameters in a problem file. Values have
shape (..., n), points last.

This package imports neither torch nor pydantic; a function that needs torch imports it inside.
"""

from gleg_core.mechanisms.declare import (
    Formula,
    Mechanism,
    NonNegative,
    Number,
    Positive,
    Whole,
    blocks,
    energy,
    flux,
    hamiltonian,
    pointwise,
)

__all__ = [
    "Formula", "Mechanism", "NonNegative", "Number", "Positive", "Whole", "blocks", "energy", "flux", "hamiltonian", "pointwise"
]  # fmt: skip
