"""Keys of the composed mechanisms in a problem file. Torch is not imported to check them."""

from pydantic import Field

from gleg_core.spec.params import FieldName, PackParams, Positive, formula_over

_OF = "field it acts on; default: the field of this equation"


class CahnHilliardParams(PackParams):
    """Δ(f′(u) − ε²Δu)."""

    epsilon: Positive = Field(description="ε, width of the interfaces")
    potential: formula_over("u") = Field(  # type: ignore[valid-type]
        "u^3 - u", validate_default=True, description="f′(u), derivative of the double-well potential, a formula of u"
    )
    of: FieldName | None = Field(None, description=_OF)


class KuramotoSivashinskyParams(PackParams):
    """−Δ²u − Δu − ½|∇u|²."""

    of: FieldName | None = Field(None, description=_OF)
