"""Keys of the Fourier basis in a problem file. Torch is not imported to check them."""

from typing import Annotated, Literal

from annotated_types import Ge, Le
from pydantic import Field

from gleg_core.spec.params import PackParams, Whole


class FourierParams(PackParams):
    """Parameters of the Fourier basis."""

    K: Annotated[Whole, Ge(1), Le(400)] | Literal["auto"] = Field(
        22, description="cutoff: wavevectors k with |k| ≤ K are kept; auto: as the problem's accuracy needs"
    )
