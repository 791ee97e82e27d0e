"""The checks of integrators and dictionaries: each refuses a component that is wrong in its way and passes a healthy one."""

from __future__ import annotations

import re
from typing import Any

import pytest
from specimens import Specimen

from gleg_conformance.kit import Subject, all_checks
from gleg_conformance.runner import CheckCase
from gleg_core.registry import Registry

HEUN, EXPONENTIAL, GROWTH = "Heun", "ExponentialHeun", "Growth"
STATED: dict[str, dict[str, Any]] = {EXPONENTIAL: {"embedded": True}}


def specimen(contract: str, name: str, **more: Any) -> Specimen:
    return Specimen(contract, f"specimens_stepping:{name}", "specimens_stepping:NoParams", **more)


INTEGRATORS = [
    # check, wrong specimen, what the message says, healthy specimen
    ("declared-order-and-estimate-agree", "TakesAForDiagonal", "capabilities say order: 2", HEUN),
    ("nodes-are-those-evaluated", "ForgottenNode", "at c = 1, which nodes do not list", HEUN),
    ("nodes-are-those-evaluated", "NodeNobodyUses", "nodes list c = 0.5", EXPONENTIAL),
    ("order-of-convergence", "ForcingFrozen", r"order 2 is declared, observed (1|0\.9)", HEUN),
    ("order-without-nonlinear-part", "ResolventWithoutHalf", r"observed (1|0\.9)", EXPONENTIAL),
    ("order-without-linear-part", "NoCorrector", r"observed (1|0\.9)", HEUN),
    ("constant-growth-is-exact", "WeightsDoNotAddUp", "z \\+ hc", HEUN),
    ("linear-part-is-exact-with-exponentials", "PhiOffByOne", "exp\\(hA\\)", EXPONENTIAL),
    ("stable-up-to-the-step-limit", "NoStepLimit", "growth: inf|growth: .*e", HEUN),
    ("stable-up-to-the-step-limit", "NegativeStepLimit", "positive number", EXPONENTIAL),
    ("step-limit-is-not-needlessly-short", "TimidStepLimit", "beyond the limit", HEUN),
    ("batches-step-like-single-states", "LimiterOverTheBatch", "between a batch", HEUN),
    ("batches-step-like-single-states", "EmptyBatchRefused", "max", EXPONENTIAL),
    ("double-precision-is-kept", "SinglePrecision", "float32", HEUN),
    ("error-estimate-iff-embedded", "EstimateNotAnnounced", "embedded is False", HEUN),
    ("error-estimate-iff-embedded", "EstimateMissing", "no error estimate", EXPONENTIAL),
    ("error-estimate-iff-embedded", "EstimateOneNumber", r"shape \(\)", EXPONENTIAL),
    ("steps-modify-nothing", "StateInPlace", "state passed to a step", HEUN),
    ("steps-modify-nothing", "ResponseInPlace", "what nonlinear returned", EXPONENTIAL),
    ("steps-modify-nothing", "OneBuffer", "overwritten by the next step", HEUN),
    ("steps-repeat-bit-by-bit", "AdamsBashforth", "depends on earlier steps", HEUN),
    ("memory-is-all-that-steps-remember", "HiddenHistory", "does not go on as the first", HEUN),
    ("memory-is-all-that-steps-remember", "MemoryOfObjects", "slopes: list", EXPONENTIAL),
    ("autonomous-steps-ignore-the-time", "StartsWithEuler", "t = 7.3", HEUN),
    ("diagonal-and-dense-linear-parts-agree", "TakesAForDiagonal", "after two steps", HEUN),
    ("blow-up-is-not-hidden", "HidesBlowUp", "becomes finite", HEUN),
    ("error-estimate-follows-the-order", "EstimatePerTime", "power lost", EXPONENTIAL),
    ("error-estimate-follows-the-order", "EstimateZero", "is zero", EXPONENTIAL),
    ("error-estimate-is-of-the-right-size", "EstimateFarTooSmall", "factor", EXPONENTIAL),
    ("gradient-of-a-step", "DetachedStage", "relative difference", HEUN),
]

DICTIONARIES = [
    ("candidates-are-listed", "TwoLines", "one line", GROWTH),
    ("candidates-are-listed", "Empty", "no candidate", GROWTH),
    ("labels-are-distinct", "LostExponent", "label f1 is listed twice", GROWTH),
    ("candidates-repeat", "SharedTerm", "12.5", GROWTH),
    ("candidates-repeat", "OtherOrder", "became", GROWTH),
    ("coefficients-are-numbers", "NamedCoefficient", "'D'", GROWTH),
    ("candidates-are-equation-terms", "AlwaysU", "no field is called 'u'", GROWTH),
    ("candidates-are-equation-terms", "NoSuchDirection", "1D", GROWTH),
    ("candidates-have-finite-responses", "Logarithm", "not finite", GROWTH),
    ("candidates-are-independent", "LogisticBeside", "condition", GROWTH),
    ("candidates-depend-on-the-fields-they-name", "LostFactor", "names f1, its response does not depend", GROWTH),
]

TABLE = [
    *(("integrator", *row) for row in INTEGRATORS),
    *(("dictionary", *row) for row in DICTIONARIES),
]


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLEG_CACHE", str(tmp_path_factory.mktemp("spaces")))
        yield


@pytest.mark.parametrize(("contract", "check", "wrong", "message", "healthy"), TABLE, ids=lambda v: str(v)[:40])
def test_a_wrong_component_fails_and_a_healthy_one_passes(
    contract: str, check: str, wrong: str, message: str, healthy: str
) -> None:
    result = specimen(contract, wrong, capabilities={"order": 2}).run(check)
    assert result.status == "failed", result
    assert re.search(message, result.detail), result.detail
    good = specimen(contract, healthy, capabilities={"order": 2, **STATED.get(healthy, {})}).run(check)
    assert good.status == "passed", good


def test_every_check_has_a_wrong_specimen() -> None:
    modules = ("gleg_conformance.integrators", "gleg_conformance.dictionaries")
    mine = {c.id for c in all_checks().values() if c.function.__module__ in modules}
    assert {row[1] for row in TABLE} == mine


@pytest.mark.parametrize("name", [HEUN, EXPONENTIAL])
def test_healthy_integrators_pass_everything_that_applies(name: str) -> None:
    results = [specimen("integrator", name, capabilities=STATED.get(name, {})).run(row[0]) for row in INTEGRATORS]
    assert {r.status for r in results} <= {"passed", "not applicable"}, results


def test_checks_that_do_not_apply_say_why() -> None:
    for check, reason in (
        ("linear-part-is-exact-with-exponentials", "exponentials alone"),
        ("error-estimate-follows-the-order", "no error estimate"),
        ("error-estimate-is-of-the-right-size", "no error estimate"),
    ):
        result = specimen("integrator", HEUN).run(check)
        assert result.status == "not applicable" and reason in result.detail
    result = specimen("integrator", EXPONENTIAL).run("step-limit-is-not-needlessly-short")
    assert result.status == "not applicable" and "no limit" in result.detail


def test_candidates_of_fourth_order_are_realised() -> None:
    assert specimen("dictionary", "Plate").run("candidates-have-finite-responses").status == "passed"


def test_without_the_packs_for_a_problem_dictionaries_are_not_realised() -> None:
    component, _ = specimen("dictionary", GROWTH).component()
    alone = Registry([component.pack])
    for check in ("candidates-are-equation-terms", "candidates-are-independent"):
        result = CheckCase(all_checks()[check], Subject(component, alone), 0).run()
        assert result.status == "not applicable" and "pip install gleg" in result.detail
