"""Keys of the boundary conditions in a problem file. Torch is not imported to check them."""

from pydantic import Field

from gleg_core.spec.params import Formula, PackParams, SpaceFormula


class DirichletParams(PackParams):
    """u = value."""

    value: Formula = Field(0.0, validate_default=True, description="g(x, t), the value on the boundary")


class NeumannParams(PackParams):
    """∂u/∂n = value."""

    value: Formula = Field(0.0, validate_default=True, description="g(x, t), the outward normal derivative")


class RobinParams(PackParams):
    """∂u/∂n + kappa u = value."""

    kappa: SpaceFormula = Field(description="κ(x), 1/length; constant in time because it enters the admissible space")
    value: Formula = Field(0.0, validate_default=True, description="g(x, t)")


class ClampedParams(PackParams):
    """u = value and ∂u/∂n = slope."""

    value: Formula = Field(0.0, validate_default=True, description="g(x, t), the value on the boundary")
    slope: Formula = Field(0.0, validate_default=True, description="h(x, t), the outward normal derivative")


class FloatingParams(PackParams):
    """u = c(t), c unknown: no parameters."""


class FreeParams(PackParams):
    """No parameters."""
