"""Keys of the Legendre basis in a problem file. Torch is not imported to check them."""

from typing import Annotated, Literal

from annotated_types import Ge, Le
from pydantic import Field

from gleg_core.spec.params import PackParams, Whole


class LegendreParams(PackParams):
    """Parameters of the Legendre basis."""

    degree: Annotated[Whole, Ge(1), Le(200)] | Literal["auto"] = Field(
        30, description="largest total degree of the polynomials; auto: as the problem's accuracy needs"
    )
