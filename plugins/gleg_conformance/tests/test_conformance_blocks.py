"""Every check of the contract Block fails for a mechanism that is wrong in the way it looks for, and passes for a healthy one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import specimens_blocks
from specimens import Specimen

from gleg_conformance.kit import Subject, all_checks
from gleg_conformance.runner import CheckCase, cases, components_of
from gleg_core.registry import Registry, default_registry

MODULES = ("blocks", "block_structure", "block_derivatives", "block_weights", "block_realisation", "block_elements",
           "block_dynamics")  # fmt: skip

BROKEN = [
    # check, wrong mechanism, words of the message, healthy counterpart
    ("declared-modes-work", "Unfinished", "has no weak form", "Heat"),
    ("declared-modes-work", "PointsFirst", r"returned shape \(24, 3\)", "Cubic"),
    ("listing-tells-the-traits", "Heat order=4", "order 4, the block's traits say 2", "Heat order=2"),
    ("reads-the-field-it-names", "Anonymous", "acts_on is None", "Heat"),
    ("batches-agree", "Normalised", "a batch against single states", "Cubic"),
    ("many-times-at-once", "OneTime", "converted", "Tide"),
    ("double-precision-throughout", "Rounded", "slope at a small step", "Cubic"),
    ("single-precision-not-mixed", "Promoted", "float64 for single precision", "Cubic"),
    ("inputs-left-alone", "InPlace", "modified in place", "Cubic"),
    ("same-answer-every-time", "Remembering", "differs after other states", "Cubic"),
    ("random-numbers-left-alone", "Noisy", "torch's global generator", "Cubic"),
    ("gradients-on-or-off", "Unfrozen", "carries a graph", "Cubic"),
    ("not-a-number-stays", "Cleaned", "where the state is not a number", "Cubic"),
    ("order-is-true", "OrderTooLow", "highest derivative", "Heat"),
    ("order-is-true", "OrderTooHigh", "order 2 is declared", "Cubic"),
    ("degree-is-true", "DegreeTooLow", "which vanishes for degree 2", "Cubic"),
    ("degree-is-true", "DegreeTooHigh", "of lower degree", "Burgers"),
    ("linear-is-linear", "Affine", "L\\(0.7u", "Heat"),
    ("sources-need-no-fields", "NeedsAField", "KeyError", "Tide"),
    ("time-dependence-is-declared", "SecretlyMoving", "change of the response with t", "Cubic"),
    ("time-dependence-is-declared", "NeverMoving", "same at four times", "Tide"),
    ("parts-sum-to-the-whole", "ForgottenPart", "sum of those of its parts", "Cooling"),
    ("symbol-agrees", "HalfASymbol", "Σ s_α", "Heat"),
    ("symbol-fits-structure", "AntiDiffusion", "growth or rotation", "Heat"),
    ("ambient-map-agrees", "UnitBox", "half width 1.7", "Heat"),
    ("mass-is-conserved", "Spreading", "∫L", "Burgers"),
    ("energy-is-conserved", "Spreading", "∫u L", "Burgers"),
    ("gradient-is-the-derivative", "LostFactor", "directional derivative", "Cubic"),
    ("products-are-adjoint", "DifferentiableOnce", "⟨w, Jv⟩", "Cubic"),
    ("weights-stay-frozen", "Adapting", "evaluation changed the weights", "LearnedDecay"),
    ("weights-stay-frozen", "StillTrainable", "require gradients", "LearnedDecay"),
    ("weights-say-everything", "HiddenScale", "saved and loaded weights", "LearnedDecay"),
    ("card-is-complete", "CardOfAnother", "the card says order 0, the block has 2", "LearnedDecay"),
    ("error-as-certified", "Overpraised", "relative error", "LearnedDecay"),
    ("green-identity", "NoBoundaryTerm", "weak form", "Heat"),
    ("green-identity", "TwiceWeak", "weak form", "Burgers"),
    ("boundary-term-uses-stated-flux", "OwnFlux", "along", "Heat"),
    ("realisations-converge", "TwiceWeak", "mode weak", "Heat"),
    ("realisations-converge", "UnitBox", "mode ambient", "Burgers"),
    ("moving-boundary-data", "NoBoundaryTerm", "neumann", "Heat"),
    ("dissipative-on-domains", "AntiDiffusion", "largest eigenvalue", "Heat"),
    ("dissipative-on-domains", "Skewed", "asymmetry", "Heat"),
    ("descends-on-domains", "BurgersCalledE", "asymmetry of the Jacobian", "Cubic"),
    ("energy-kept-on-domains", "Spreading", "⟨z, q", "Burgers"),
    ("mass-kept-with-neumann", "Skewed", "rate of ∫u", "Heat"),
    ("realisations-agree-on-elements", "TwiceWeak", "weak", "Burgers"),
    ("matrix-agrees-on-elements", "SecretlyAgeing", "by the matrix against", "Heat"),
    ("energy-decays-along-flow", "AntiDiffusion", "growth of the norm", "Heat"),
    ("energy-kept-along-flow", "Spreading", "change of the norm", "Burgers"),
]


@pytest.fixture(scope="module", autouse=True)
def weights(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The weights of the learned specimens; spaces are not kept on disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            specimens_blocks.LearnedDecay, "weights", specimens_blocks.write_weights(tmp_path_factory.mktemp("weights"))
        )
        patch.setenv("GLEG_CACHE", "off")
        yield


def specimen(words: str, **capabilities: Any) -> Specimen:
    """``"Heat order=4"``: the class, and what its entry states."""
    name, *stated = words.split()
    kind = getattr(specimens_blocks, name)
    if issubclass(kind, specimens_blocks.LearnedDecay):
        capabilities["learned"] = f"specimens_blocks:{name}"
    capabilities |= {key: int(value) for key, _, value in (s.partition("=") for s in stated)}
    return Specimen("block", f"specimens_blocks:{name}", "specimens_blocks:NoParams", capabilities=capabilities)


@pytest.mark.parametrize(("check", "wrong", "words", "healthy"), BROKEN, ids=[f"{c}-{w}" for c, w, *_ in BROKEN])
def test_wrong_mechanism_fails_and_healthy_one_passes(check: str, wrong: str, words: str, healthy: str):
    failed = specimen(wrong).run(check)
    assert failed.status == "failed", failed.detail
    assert re.search(words, failed.detail), failed.detail
    passed = specimen(healthy).run(check)
    assert passed.status == "passed", passed.detail


def test_every_check_has_a_wrong_mechanism():
    mine = {c.id for c in all_checks().values() if c.function.__module__.rpartition(".")[2] in MODULES}
    assert mine == {check for check, *_ in BROKEN}


@pytest.mark.parametrize("dim", [1, 3])
@pytest.mark.parametrize("name", ["Heat", "Burgers", "Cubic", "Cooling", "Tide", "LearnedDecay"])
def test_healthy_mechanisms_pass_in_other_dimensions(name: str, dim: int):
    component, registry = specimen(name, dims=[dim]).component()
    results = [case.run() for case in cases(component, registry) if case.check.contracts == ("block",)]
    assert [r for r in results if r.status == "failed"] == []
    assert sum(r.status == "passed" for r in results) >= 10


@pytest.mark.parametrize("pack", ["diffusion", "transport", "polynomial"])
def test_first_party_mechanisms_pass(pack: str):
    registry = default_registry()
    failed = [
        f"{case.id}: {result.detail}"
        for component in components_of(pack, registry)
        for case in cases(component, registry)
        if case.check.contracts == ("block",) and (result := case.run()).status == "failed"
    ]
    assert failed == []


def test_a_block_that_elements_cannot_realise_is_told_so():
    """Not failed: plates need functions with continuous slopes. Nor is a block whose conditions elements cannot meet."""
    for name, reason in (("Plate", "functions on cells cannot meet this condition"), ("OnlyPointwise", "order two")):
        for check in ("realisations-agree-on-elements", "matrix-agrees-on-elements"):
            result = specimen(name).run(check)
            assert result.status == "not applicable" and "not on elements" in result.detail, result
            assert reason in result.detail


def test_without_first_party_packs_nothing_is_checked_on_domains():
    """The kit itself needs no pack."""
    component, registry = specimen("Heat").component()
    alone = Registry(tuple(p for p in registry.packs if p.id == "specimens"))
    for check in (
        "green-identity",
        "dissipative-on-domains",
        "moving-boundary-data",
        "ambient-map-agrees",
        "matrix-agrees-on-elements",
    ):
        result = CheckCase(all_checks()[check], Subject(component, alone, {}), 0).run()
        assert result.status == "not applicable" and "pip install gleg" in result.detail, result
    assert CheckCase(all_checks()["batches-agree"], Subject(component, alone, {}), 0).run().status == "passed"
