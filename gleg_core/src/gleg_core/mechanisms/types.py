"""Types for the parameters of declared mechanisms; light stand-ins for those of ``gleg_core.spec.params``, which they become."""

from dataclasses import dataclass
from typing import Annotated, Any


@dataclass(frozen=True)
class Kind:
    """Name of a type in ``gleg_core.spec.params``."""

    name: str


Number = Annotated[float, Kind("Number")]
"""A number, or a formula of named constants."""
Positive = Annotated[float, Kind("Positive")]
NonNegative = Annotated[float, Kind("NonNegative")]
Whole = Annotated[int, Kind("Whole")]
Formula = Annotated[Any, Kind("Formula")]
"""A formula of x, y, z, t; the function receives its values at the points."""
