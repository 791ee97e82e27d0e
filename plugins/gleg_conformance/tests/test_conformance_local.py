"""Every check of local bases fails on one that is wrong in that way and passes on the elements."""

from __future__ import annotations

import pytest
from specimens import Specimen

from gleg_conformance.kit import Subject, all_checks
from gleg_conformance.local_settings import DOMAINS, local_settings
from gleg_conformance.runner import Result, cases

HERE = "specimens_local"
LOCAL = {"dims": [1, 2], "isotropic": False, "local": True, "tolerance": "tolerance"}
MODULES = ("local_cells", "local_edges", "local_accuracy")

WRONG = [
    # check, specimen, words of the message
    ("local-capability-is-true", "two_lines", "describe must give one line"),
    ("cells-have-their-shape", "inverse_without_nodes", "inverse of cells[0] on the interval has shape"),
    ("cells-have-their-shape", "single_precision", "values of cells[0] on the interval is float32"),
    ("cells-have-their-shape", "segments_of_another", "edges on the interval are of segments"),
    ("numbering-is-complete", "one_function_more", "in no cell"),
    ("cells-agree-with-evaluate", "functions_in_another_order", "between cells and evaluate"),
    ("cells-agree-with-evaluate", "jacobian_as_inverse", "between cells and evaluate"),
    ("derivatives-on-cells-match-differences", "jacobian_as_inverse", "differences of evaluate"),
    ("derivatives-on-cells-match-differences", "reference_slopes", "differences of evaluate"),
    ("cells-cover-the-domain", "weights_of_the_square", "against the area"),
    ("rules-integrate-products", "coarse_rule", "∮ u v x·n"),
    ("divergence-theorem-on-cells", "normals_of_chords", "∮ u n_i"),
    ("divergence-theorem-on-cells", "cell_of_its_own", "∮ u n_i"),
    ("functions-are-continuous", "cell_of_its_own", "between close points"),
    ("projection-is-orthogonal", "projects_by_a_weighted_fit", "what a projection leaves"),
    ("evaluate-on-cells-keeps-batches", "detached", "cuts the gradient"),
    ("evaluating-leaves-no-trace", "remembers_places", "at different times"),
    ("second-derivatives-are-refused", "zero_second_derivatives", "instead of a SpecError"),
    ("edges-agree-with-evaluate", "edges_backwards", "between edges and evaluate"),
    ("edges-have-the-functions-that-matter", "edge_forgotten", "is in none of its edges"),
    ("edges-have-the-functions-that-matter", "functions_inside_on_edges", "and is in its edges"),
    ("edges-cover-the-boundary", "segments_swapped", "relative difference"),
    ("edges-cover-the-boundary", "edges_moved", "distance of nodes from segment"),
    ("edges-cover-the-boundary", "weights_of_one_half", "against the length of segment"),
    ("edge-normals-point-outward", "inward_normals", "do not point out of Ω"),
    ("more-functions-bring-convergence", "order_makes_cells", "ratio of errors"),
    ("errors-are-not-underestimated", "optimistic", "divided by its estimate"),
    ("refined-parameters-leave-less", "proposes_the_same", "ratio of errors"),
]


def run(check: str, factory: str, **capabilities: object) -> Result:
    example = {"order": 2, "size": 0.3}
    params = "gleg_basis_elements.params:ElementsParams"
    return Specimen("basis", factory, params, example, capabilities or LOCAL).run(check)


@pytest.mark.parametrize(("check", "specimen", "because"), WRONG, ids=[f"{c}-{s}" for c, s, _ in WRONG])
def test_a_wrong_local_basis_fails(check: str, specimen: str, because: str) -> None:
    result = run(check, f"{HERE}:{specimen}")
    assert result.status == "failed", result.detail
    assert because in result.detail


@pytest.mark.parametrize("check", dict.fromkeys(check for check, *_ in WRONG))
def test_the_elements_pass(check: str) -> None:
    result = run(check, f"{HERE}:healthy")
    assert result.status == "passed", result.detail


def test_every_check_of_local_bases_has_a_wrong_one() -> None:
    mine = {c.id for c in all_checks().values() if c.function.__module__.rpartition(".")[2] in MODULES}
    assert mine == {check for check, *_ in WRONG}


@pytest.mark.parametrize(
    ("factory", "stated", "because"),
    [
        (f"{HERE}:healthy", {"dims": [2], "isotropic": False}, "local: False, but ElementsBasis is a LocalBasis"),
        ("specimens_local:Waves", {"dims": [2], "local": True}, "local: True, but Waves is no LocalBasis"),
        (f"{HERE}:healthy", {"dims": [2], "local": True}, "isotropic: True, the basis has isotropic = False"),
    ],
)
def test_local_is_stated_where_it_is_true(factory: str, stated: dict[str, object], because: str) -> None:
    result = run("local-capability-is-true", factory, **stated)
    assert result.status == "failed" and because in result.detail, result.detail


def test_checks_are_for_one_kind_of_basis() -> None:
    """Those of global functions say that they do not apply to local ones, and the other way round; both kinds are made as they can be."""
    found = {}
    for factory, params, example, stated in [
        (f"{HERE}:healthy", "gleg_basis_elements.params:ElementsParams", {"order": 2, "size": 0.3}, LOCAL),
        ("gleg_basis_fourier.fourier:FourierBasis", "gleg_basis_fourier.params:FourierParams", {"K": 4}, {"periodic": True}),
    ]:  # fmt: skip
        component, registry = Specimen("basis", factory, params, example, stated).component()
        results = [case.run() for case in cases(component, registry) if case.check.contracts == ("basis",)]
        assert [r for r in results if r.status == "failed"] == []
        found[factory] = {r.check for r in results if r.status == "passed"}
    assert set.intersection(*found.values()) == {"local-capability-is-true"}


def test_elements_are_examined_on_every_domain() -> None:
    params = "gleg_basis_elements.params:ElementsParams"
    component, registry = Specimen("basis", f"{HERE}:healthy", params, {"order": 1, "size": 0.4}, LOCAL).component()
    made = local_settings(Subject(component, registry, {"order": 1, "size": 0.4}))
    assert [setting.label for setting in made] == [kind for kinds in DOMAINS.values() for kind in kinds]


def test_a_basis_for_some_shapes_is_examined_on_these() -> None:
    result = run("cells-cover-the-domain", f"{HERE}:rectangles_only", dims=[2], isotropic=False, local=True)
    assert result.status == "passed" and "(rectangle)" in result.detail
    refused = run("cells-cover-the-domain", f"{HERE}:nowhere", dims=[2], isotropic=False, local=True)
    assert refused.status == "failed" and "it refuses every domain that is tried: rectangle: no" in refused.detail
