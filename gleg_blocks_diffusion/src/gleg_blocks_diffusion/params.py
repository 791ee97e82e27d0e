"""Keys of the diffusion mechanisms in a problem file. Torch is not imported to check them."""

from __future__ import annotations

from pydantic import Field

from gleg_core.spec.params import FieldName, PackParams, SpaceFormula


class DiffusionParams(PackParams):
    """Parameters of Δu; its diffusivity is the term's coefficient."""

    of: FieldName | None = Field(None, description="field that diffuses; default: the field of this equation")


class VariableDiffusionParams(PackParams):
    """Parameters of ∇·(D(x)∇u)."""

    diffusivity: SpaceFormula = Field(description="D(x), positive")
    of: FieldName | None = Field(None, description="field that diffuses; default: the field of this equation")
