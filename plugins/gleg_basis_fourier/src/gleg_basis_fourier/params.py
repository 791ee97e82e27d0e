"""Keys of the Fourier basis in a problem file. Torch is not imported to check them."""

from __future__ import annotations

from pydantic import Field

from gleg_core.spec.params import PackParams, Whole


class FourierParams(PackParams):
    """Parameters of the Fourier basis."""

    K: Whole = Field(22, ge=1, le=400, description="cutoff: wavevectors k with |k| ≤ K are kept")
