"""Keys of the elements in a problem file. Torch is not imported to check them."""

import math
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le
from pydantic import Field

from gleg_core.spec.params import Number, PackParams, Positive, Whole


class ElementsParams(PackParams):
    """Parameters of finite elements."""

    order: Annotated[Whole, Ge(1), Le(12)] | Literal["auto"] = Field(
        "auto", description="polynomial degree of the functions on an element; auto: 4 to 9, by the tolerance"
    )
    size: Positive | Literal["auto"] = Field(
        "auto",
        description="largest length of an edge; auto: as the given functions of the problem (initial states, sources, coefficients) need",
    )
    grading: Annotated[Whole, Ge(0), Le(40)] | Literal["auto"] = Field(
        "auto",
        description="rings of ever smaller elements around points where solutions are rough; auto: as many as the tolerance needs, by the "
        "angle of the corner and what its conditions are",
    )
    tolerance: Annotated[Number, Gt(0.0), Le(0.1)] = Field(
        1e-6,
        description="relative error that what is auto may leave in the given functions, at rough points and along curved "
        "boundaries",
    )
    near: tuple[tuple[Number, ...], ...] = Field(
        (), description="places where elements are smaller: [x, y, size] (or [x, size] on an interval)"
    )

    @property
    def degree(self) -> int:
        """The order, chosen if it is auto."""
        if self.order != "auto":
            return self.order
        return min(9, max(4, math.ceil(-math.log10(self.tolerance) - 1e-9) - 1))

    @property
    def turn(self) -> float:
        """Radians by which the boundary may turn along one edge: ½ leaves about 1e-6, and errors grow with its power order + 1."""
        return float(min(1.2, max(0.4, 0.5 * (self.tolerance / 1e-6) ** (1 / (self.degree + 1)))))
