"""Every check of bases, boundary conditions and domains fails on a component that is wrong in that way and passes on a healthy one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from specimens import Specimen

from gleg_conformance.kit import all_checks
from gleg_conformance.runner import cases

HERE = "specimens_geometry"
FOURIER = {"params": "gleg_basis_fourier.params:FourierParams", "example": {"K": 5}}
ROBIN = {"params": "gleg_bc.params:RobinParams", "example": {"kappa": "1+x^2", "value": "x*sin(t)"}}
NEUMANN = {"params": "gleg_bc.params:NeumannParams", "example": {"value": "sin(3*t)"}}
DIRICHLET = {"params": "gleg_bc.params:DirichletParams", "example": {"value": "sin(3*t)"}}
CLAMPED = {"params": "gleg_bc.params:ClampedParams", "example": {"value": "x*t"}}
PLAIN = {"params": f"{HERE}:NoParams"}


@dataclass(frozen=True)
class Wrong:
    """A specimen that must fail ``check`` with a message that holds ``because``, and the healthy one that must pass."""

    contract: str
    check: str
    specimen: str
    because: str
    keys: dict[str, Any]
    healthy: str
    capabilities: dict[str, Any] = field(default_factory=dict)


def basis(check: str, specimen: str, because: str, **capabilities: Any) -> Wrong:
    return Wrong("basis", check, specimen, because, FOURIER, "gleg_basis_fourier.fourier:FourierBasis", capabilities)


def boundary(
    check: str, specimen: str, because: str, keys: dict[str, Any] = ROBIN, healthy: str = "robin:Robin"
) -> Wrong:
    return Wrong("boundary", check, specimen, because, keys, f"gleg_bc.{healthy}")


def domain(check: str, specimen: str, because: str, healthy: str = "Healthy") -> Wrong:
    return Wrong("domain", check, specimen, because, PLAIN, f"{HERE}:{healthy}")


WRONG = [
    basis("basis-is-as-declared", "NotSaidToRepeat", "say periodic: True", periodic=True),
    basis("basis-is-as-declared", "AnotherFrame", "not the box", periodic=True),
    basis("periodic-flag-is-true", "NotSaidToRepeat", "but periodic is False"),
    basis("periodic-flag-is-true", "PeriodOfTwoBoxes", "jump between opposite faces"),
    basis("bandwidth-sets-a-sufficient-quadrature", "BandwidthWithoutPi", "mass matrix"),
    basis("tables-have-their-shape", "SinglePrecision", "float32"),
    basis("tabulating-leaves-no-trace", "SharedTables", "shared with callers"),
    basis("points-are-tabulated-independently", "CentredOnThePoints", "three of them"),
    basis("derivatives-match-differences", "ReferenceDerivatives", "lower order"),
    basis("tables-are-differentiable-in-the-points", "DetachedPoints", "gradients through the points"),
    basis("evaluate-agrees-with-tables", "EvaluatesValuesOnly", "evaluate"),
    basis("jet-agrees-with-tables", "JetWithSwappedAxes", "jet"),
    basis("transform-agrees-with-tables", "TransformOfValuesOnly", "the transform and products"),
    basis("products-agree-with-tables", "ProductsTransposed", "integrals of products"),
    basis("wavevectors-diagonalise", "WavevectorsWithoutPi", "second derivatives"),
    basis("functions-are-independent", "OneFunctionTwice", "condition number"),
    basis("projection-gives-the-coefficients-back", "ProjectsWithoutNorm", "coefficients and their projection"),
    basis("projection-is-nearly-best", "ProjectsFromOneHalf", "best approximation"),
    basis("constants-lie-in-the-span", "WithoutConstant", "between 1 and its projection"),
    basis("resolution-brings-convergence", "CosinesOnly", "ratio of errors"),
    boundary("conditions-are-counted-right", "OneOfTwo", "conditions: 1, traces: 2", CLAMPED, "clamped:Clamped"),
    boundary("normal-order-is-true", "OrderForgotten", "highest normal derivative in the traces is 1"),
    boundary("normal-order-is-true", "OrderTooHigh", "order = 2 is declared"),
    boundary("traces-keep-batches-and-precision", "Squeezed", "has shape"),
    boundary("traces-keep-batches-and-precision", "HalfPrecision", "float32"),
    boundary("traces-are-linear", "MinusData", "αBu"),
    boundary("traces-are-local", "MeanRemoved", "some of them"),
    boundary("traces-do-not-depend-on-time", "GrowingCoefficient", "t = 1.7"),
    boundary("traces-leave-no-trace", "InPlace", "modify the jet"),
    boundary("traces-leave-no-trace", "RemembersPoints", "asked for before"),
    boundary("traces-are-differentiable", "NoGradient", "no gradient"),
    boundary("data-are-formulas", "DataAsFunction", "function; a formula"),
    boundary("data-are-formulas", "DataOfTheAngle", "depends on theta"),
    boundary("data-rates-match-differences", "WrongRate", "differences in time"),
    boundary("flux-tells-the-normal-derivative", "InwardNormal", "flux stated"),
    boundary("declared-vanishing-derivatives-vanish", "ValuesSaidToVanish", "declared normal", NEUMANN, "neumann:Neumann"),
    boundary("all-vanishing-derivatives-are-declared", "NothingSaidToVanish", "order 0 vanish", DIRICHLET, "dirichlet:Dirichlet"),
    domain("domain-is-as-declared", "SameNames", "must be distinct"),
    domain("domain-is-as-declared", "ReservedName", "has a meaning"),
    domain("domain-is-as-declared", "NotBuilt", "the radius is missing"),
    domain("boundary-samples-have-their-shape", "SinglePrecisionSamples", "float32"),
    domain("normals-have-length-one", "LongNormals", "from 1"),
    domain("normals-point-outward", "HoleWithNormalsIntoOmega", "wrong side"),
    domain("weights-sum-to-the-length", "WeightsOfTheAngle", "segment 'boundary'"),
    domain("different-counts-give-different-nodes", "NestedNodes", "fraction of nodes"),
    domain("boundary-is-closed", "OpenBox", "∮ n ds"),
    domain("quadrature-nodes-lie-inside", "NodesInTheBox", "not in Ω"),
    domain("quadrature-nodes-lie-inside", "NegativeWeights", "not positive"),
    domain("areas-agree", "AreaWithoutSquare", "measure 1.88"),
    domain("divergence-theorem", "CountedCells", "∇·F"),
    domain("waves-are-integrated", "WavenumberInCycles", "boundary integral"),
    domain("a-larger-wavenumber-gives-a-finer-rule", "AlwaysTheSameRule", "more are needed"),
    domain("a-larger-wavenumber-gives-a-finer-rule", "WavenumberInCycles", "integrals of waves"),
    domain("a-tolerance-is-kept", "TooTolerant", "error of the integrals of waves"),
    domain("inside-test-agrees-with-the-boundary", "HoleForgottenInside", "disagree"),
    domain("bounds-are-tight", "LooseBounds", "gap between"),
    domain("bounds-are-tight", "BoundsTooSmall", "beyond bounds"),
    domain("outlines-close", "OutlineWithoutLastPoint", "gap between an end"),
    domain("outlines-have-the-length", "CoarseOutline", "drawn"),
    domain("samples-lie-on-the-outline", "OutlineAtTheOrigin", "from a sample"),
    domain("domains-repeat-bit-by-bit", "RandomPhase", "differ when"),
    domain("returned-arrays-belong-to-the-caller", "SharedArrays", "later answers: bounds"),
    domain("corners-have-their-angles", "ExteriorAngles", "interior angle", "_HealthyRectangle"),
    domain("corners-are-ends-of-segments", "SegmentsShifted", "distance of a corner", "_HealthyRectangle"),
    domain("corners-are-ends-of-segments", "CornerForgotten", "not among the corners", "_HealthyRectangle"),
    domain("feature-size-is-a-length", "LongestFeature", "feature_size", "_HealthyRectangle"),
    domain("corners-are-ends-of-segments", "CornerInside", "distance of a corner", "_HealthyRectangle"),
    domain("curves-have-the-domain-on-their-left", "ClockwiseCurve", "wrong side, first on curve 0 of segment 'boundary'"),
    domain("curves-have-the-length", "HalfACircle", "its curves are 1.88"),
    domain("samples-lie-on-the-curves", "CurveAtTheOrigin", "from a sample to the curves"),
    domain("curves-join", "CurvesWithGaps", "gap between ends of curves", "_HealthyRectangle"),
    domain("velocities-of-curves-match-differences", "VelocityInTheAngle", "velocity from differences"),
    domain("velocities-of-curves-match-differences", "CircleSaidStraight", "said to be straight"),
]  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG, ids=lambda w: f"{w.check}-{w.specimen}")
def test_a_wrong_component_fails(wrong: Wrong) -> None:
    specimen = Specimen(wrong.contract, f"{HERE}:{wrong.specimen}", **wrong.keys, capabilities=wrong.capabilities)
    result = specimen.run(wrong.check)
    assert result.status == "failed", result.detail
    assert wrong.because in result.detail


@pytest.mark.parametrize("wrong", {w.check: w for w in WRONG}.values(), ids=lambda w: w.check)
def test_a_healthy_component_passes(wrong: Wrong) -> None:
    specimen = Specimen(wrong.contract, wrong.healthy, **wrong.keys, capabilities=wrong.capabilities)
    result = specimen.run(wrong.check)
    assert result.status == "passed", result.detail


def test_every_check_has_a_wrong_component() -> None:
    modules = {
        f"gleg_conformance.{name}"
        for name in ("bases", "basis_transforms", "boundaries", "domains", "domain_corners", "domain_curves")
    }
    ours = {check.id for check in all_checks().values() if check.function.__module__ in modules}
    assert ours == {wrong.check for wrong in WRONG}


# --- other dimensions ---------------------------------------------------------------------------------------------------


def outcomes(specimen: Specimen, module: str) -> dict[str, str]:
    component, registry = specimen.component()
    found = [case.run() for case in cases(component, registry) if case.check.function.__module__.endswith(module)]
    return {result.check: f"{result.status}: {result.detail}" for result in found if result.status != "passed"}


def test_a_ball_in_space_passes() -> None:
    found = outcomes(Specimen("domain", f"{HERE}:Ball", **PLAIN, capabilities={"dim": 3}), "domains")
    assert set(found) == {"outlines-close", "outlines-have-the-length", "samples-lie-on-the-outline"}
    assert all("in three dimensions" in text for text in found.values())


@pytest.mark.parametrize("condition", ["dirichlet:Dirichlet", "neumann:Neumann", "robin:Robin", "clamped:Clamped"])
def test_conditions_pass_in_one_and_three_dimensions(condition: str) -> None:
    keys = {"dirichlet": DIRICHLET, "neumann": NEUMANN, "robin": ROBIN, "clamped": CLAMPED}[condition.partition(":")[0]]
    found = outcomes(Specimen("boundary", f"gleg_bc.{condition}", **keys, capabilities={"dims": [1, 3]}), "boundaries")
    assert all(text.startswith("not applicable") for text in found.values()), found


def test_a_domain_that_cannot_be_built_is_told_once() -> None:
    found = outcomes(Specimen("domain", f"{HERE}:NotBuilt", **PLAIN), "domains")
    failed = [check for check, text in found.items() if text.startswith("failed")]
    assert failed == ["domain-is-as-declared"]
