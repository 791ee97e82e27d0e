"""Matrices of linear mechanisms from their coefficients, against the response to every function of the space at the nodes."""

from functools import cache

import pytest
import torch
from torch import Tensor

import gleg
from gleg_core.contracts.jet import Jet
from gleg_core.system import local_form
from gleg_core.system.discrete_field import DiscreteField
from gleg_core.system.discretise import discretise, realised_terms
from gleg_core.system.reduced import ReducedSystem
from gleg_core.system.spaces import build_spaces
from gleg_core.system.terms import Term, _assembled, choose_mode, state_matrix

LAPLACIAN = {"block": "diffusion", "twin": "analytic"}
VARIABLE = {"block": "variable-diffusion", "diffusivity": "1 + 0.5*x*y"}
ALONG = {"block": "advection", "velocity": ["y", "-x + 0.3"]}


def spec(term: dict, space: dict, boundary: dict) -> dict:
    return {
        "domain": {"kind": "rosette"},
        "basis": {"kind": "fourier", "K": 8},
        "space": space,
        "fields": {"u": {"initial": "0", "boundary": [boundary], "equation": [term]}},
        "time": {"end": 1},
    }


def system(term: dict, space: dict, boundary: dict) -> ReducedSystem:
    return discretise(gleg.load(spec(term, space, boundary))).system


def both_ways(made: ReducedSystem) -> tuple[Tensor, Tensor]:
    """The matrix of the only term, and the one from the responses to all functions at the nodes."""
    (term, mode), fields = made.modes[0], made.fields
    field = fields["u"]
    responses = _assembled(term, mode, field, fields, field.interior.of_functions(), field.boundary_jets()[0])
    return state_matrix(term, mode, field, fields), responses


def counted(monkeypatch: pytest.MonkeyPatch, name: str) -> list[str]:
    """Grows with every call of the named way to a matrix."""
    calls: list[str] = []
    original = getattr(local_form, name)
    monkeypatch.setattr(local_form, name, lambda *arguments: calls.append(name) or original(*arguments))
    return calls


def relative(a: Tensor, b: Tensor) -> float:
    return float((a - b).abs().max() / b.abs().max())


BOUNDARIES = [{"kind": "dirichlet"}, {"kind": "robin", "kappa": 2}]


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=lambda b: b["kind"])
@pytest.mark.parametrize("term", [LAPLACIAN, VARIABLE], ids=lambda t: t["block"])
def test_sums_of_squares(term: dict, boundary: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    made = system(term, {}, boundary)
    called = counted(monkeypatch, "_by_tables")
    A, responses = both_ways(made)
    assert called
    assert relative(A, responses) < 1e-12


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=lambda b: b["kind"])
@pytest.mark.parametrize("term", [LAPLACIAN, VARIABLE, ALONG], ids=lambda t: t["block"])
def test_products_where_their_rounding_is_allowed(term: dict, boundary: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    """At tau_M = 1e-8 the coordinates multiply rounding errors by ‖N‖², about 1e9: below the error allowed in integrals."""
    made = system(term, {"tau_M": 1e-8, "quadrature": 1e-5}, boundary)
    assert not made.fields["u"].space.large.any()
    called = counted(monkeypatch, "_by_products")
    A, responses = both_ways(made)
    assert called
    assert relative(A, responses) < 1e-6


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=lambda b: b["kind"])
@pytest.mark.parametrize("term", [LAPLACIAN, VARIABLE, ALONG], ids=lambda t: t["block"])
def test_products_of_those_functions_for_which_rounding_allows_them(term: dict, boundary: dict) -> None:
    """Large functions among each other need tables; without them errors here are 1e-6 to 1e-5."""
    problem = gleg.load(spec(term, {"tau_M": 1e-11, "quadrature": 1e-7}, boundary))
    (realised,) = realised_terms(problem, problem.fields[0], problem.fields[0].terms[0], 2)
    (field,) = build_spaces(problem, [realised]).fields
    assert 0.05 < float(field.space.large.double().mean()) < 0.6
    mode, fields = choose_mode(realised, field), {"u": field}
    A = state_matrix(realised, mode, field, fields)
    responses = _assembled(realised, mode, field, fields, field.interior.of_functions(), field.boundary_jets()[0])
    assert relative(A, responses) < 1e-8


@pytest.mark.parametrize("boundary", [*BOUNDARIES, {"kind": "neumann"}], ids=lambda b: b["kind"])
def test_functions_are_orthonormal_to_the_error_allowed_in_integrals(boundary: dict) -> None:
    """The second pass takes only large functions; those of the first alone are orthonormal to 2e-5 to 7e-4 here."""
    problem = gleg.load(spec(LAPLACIAN, {"tau_M": 1e-11, "quadrature": 1e-7}, boundary))
    (realised,) = realised_terms(problem, problem.fields[0], problem.fields[0].terms[0], 2)
    (field,) = build_spaces(problem, [realised]).fields
    assert field.space.large.any() and not field.space.large.all()
    values = field.interior.functions((0, 0))
    assert float(((values * field.space.weights) @ values.T - torch.eye(field.r)).abs().max()) < 2e-8


def test_what_a_basis_gives_is_not_changed() -> None:
    """A basis may keep the integrals it has made and give them again."""
    field: DiscreteField = system(LAPLACIAN, {"tau_M": 1e-8, "quadrature": 1e-5}, BOUNDARIES[0]).fields["u"]
    kept = cache(field.space.products())
    form = {
        ((1, 0), (1, 0)): -2 * torch.ones(len(field.space.weights)),
        ((0, 1), (0, 1)): -torch.ones(len(field.space.weights)),
    }
    one, other = (local_form._by_products(form, field, field, kept) for _ in range(2))
    assert torch.equal(one, other)


def test_products_are_not_used_where_their_rounding_would_show() -> None:
    made = system(LAPLACIAN, {}, BOUNDARIES[0])
    assert made.fields["u"].space.large.all()


def test_a_mean_has_no_local_form() -> None:
    field: DiscreteField = system(LAPLACIAN, {}, BOUNDARIES[1]).fields["u"]
    w = field.space.weights

    def mean(jet: Jet) -> dict[tuple[int, int], Tensor]:
        return {(0, 0): ((jet.value * w).sum(dim=-1, keepdim=True) / w.sum()).expand_as(jet.value)}

    assert local_form.local_form(mean, field.interior) is None
    assert local_form.local_form(lambda jet: {(0, 0): 3 * jet.value - jet.d((1, 0))}, field.interior) is not None


def test_a_coefficient_that_changes_its_sign_is_no_sum_of_squares() -> None:
    """Zero at the first node, of both signs elsewhere."""
    field: DiscreteField = system(LAPLACIAN, {}, BOUNDARIES[0]).fields["u"]
    W = field.interior.at.x[:, 0] - field.interior.at.x[0, 0]
    assert bool((W > 0).any()) and bool((W < 0).any())
    assert local_form.matrix({((1, 0), (1, 0)): W}, field, field) is None


def test_a_reaction_is_the_identity() -> None:
    made = system({"block": "power"}, {}, BOUNDARIES[0])
    term: Term = made.modes[0][0]
    A = state_matrix(term, "pointwise", made.fields["u"], made.fields)
    assert torch.equal(A, torch.eye(len(A), dtype=torch.float64))
