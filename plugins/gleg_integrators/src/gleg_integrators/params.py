"""Parameters of the integrators. No torch here: a problem file is checked without it."""

from typing import Annotated, Literal

from pydantic import Field

from gleg_core.spec.params import PackParams, Positive, Whole


class NoParams(PackParams):
    """The method has no parameters."""


class ImplicitMidpointParams(PackParams):
    tolerance: Positive = Field(1e-14, description="largest relative change in the last iteration")
    iterations: Whole = Field(100, ge=1, description="most iterations in a step")


class StrangParams(PackParams):
    linear: Literal["exact", "crank-nicolson"] = Field("exact", description="flow of the linear part")
    nonlinear: Literal["rk4", "heun"] = Field("rk4", description="method for the half steps of the nonlinear part")
    substeps: Whole = Field(1, ge=1, description="substeps in each half step of the nonlinear part")


class Etdrk4Params(PackParams):
    scheme: Literal["cox-matthews", "krogstad", "hochbruck-ostermann"] = Field(
        "hochbruck-ostermann",
        description="hochbruck-ostermann has 5 stages and keeps its order in stiff problems; the others have 4 and "
        "lose up to one order and a half where the forcing does not vanish on the boundary",
    )


class ImexBdfParams(PackParams):
    order: Whole = Field(
        4, ge=2, le=5, description="order of convergence; the higher, the less growth and oscillation may be stiff"
    )


class CollocationParams(PackParams):
    stages: Whole = Field(
        6, ge=2, le=8, description="points of a step at which the equation is satisfied, ends included"
    )
    sweeps: Annotated[int, Field(ge=1, le=30)] | Literal["auto"] = Field(
        6,
        description="evaluations of all stages in a step; each gains one order, up to 2·stages − 2. auto: as many as each step needs",
    )
