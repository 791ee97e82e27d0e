"""Keys of the dictionaries. Torch is not imported to check them."""

from typing import Annotated

from annotated_types import Ge, Le
from pydantic import Field

from gleg_core.spec.params import PackParams, Whole


class PaperSixParams(PackParams):
    """No parameters."""


class PolynomialDiffusionParams(PackParams):
    """Which terms the dictionary lists."""

    max_degree: Annotated[Whole, Ge(1), Le(6)] = Field(3, description="highest total degree of a monomial, 1 to 6")
    products: bool = Field(True, description="products of different fields too, such as u²v")
    constant: bool = Field(False, description="the constant function 1 too")
    cross_diffusion: bool = Field(False, description="the Laplacians of the other fields too")
