"""Keys of the diffusion mechanisms in a problem file. Torch is not imported to check them."""

from typing import Literal

from pydantic import Field

from gleg_core.spec.params import FieldName, PackParams, ScalarLawParams, SpaceFormula, formula_over


class DiffusionParams(PackParams):
    """Parameters of Δu; its diffusivity is the term's coefficient."""

    of: FieldName | None = Field(None, description="field that diffuses; default: the field of this equation")
    twin: Literal["learned", "analytic"] = Field("learned", description="the trained block, or the exact formula")


class VariableDiffusionParams(PackParams):
    """Parameters of ∇·(D(x)∇u)."""

    diffusivity: SpaceFormula = Field(description="D(x), positive")
    of: FieldName | None = Field(None, description="field that diffuses; default: the field of this equation")


class NonlinearDiffusionParams(ScalarLawParams):
    """Parameters of ∇·(d(u)∇u): a formula for d, or weights learned from data."""

    formula_key = "diffusivity"
    diffusivity: formula_over("u") | None = Field(None, description="d(u), a formula of u, positive")  # type: ignore[valid-type]
