"""Candidates of the dictionaries: labels, spelling, and their realised responses against closed forms."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from gleg import default_registry
from gleg import load as load_problem
from gleg_core.contracts.dictionary import Candidate, Dictionary
from gleg_core.system.discretise import Discretisation, discretise
from gleg_dictionary.pack import gleg_dictionaries


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLEG_CACHE", str(tmp_path_factory.mktemp("spaces")))
        yield


def dictionary(name: str, **params: Any) -> Dictionary:
    registry = default_registry()
    component = registry.find("dictionary", f"dictionary:{name}")
    return registry.factory(component)(registry.params(component).model_validate(params))


def labels(candidates: Sequence[Candidate]) -> list[str]:
    return [c.label for c in candidates]


def problem(equations: dict[str, list[dict[str, Any]]], domain: dict[str, Any], K: int) -> Discretisation:
    """All fields start from given states and vanish on the boundary, so that the lift is zero."""
    initial = {"u": START, "v": f"0.5*({START})*(1 + x)"}
    document = {
        "domain": domain,
        "basis": {"kind": "fourier", "K": K},
        "fields": {
            name: {"initial": initial[name], "boundary": [{"kind": "dirichlet"}], "equation": terms}
            for name, terms in equations.items()
        },
        "time": {"end": 1},
        "space": {"oversampling": 1.5},
    }
    return discretise(load_problem(document))


DISK = {"kind": "disk", "radius": 0.6}
START = "(0.36 - x^2 - y^2)*(1 + sin(2*x) + y)"


# --- lists ----------------------------------------------------------------------------------------------------------


def test_the_six_candidates() -> None:
    six = dictionary("paper-six").candidates("u", ("u",), 2)
    assert labels(six) == ["Δu", "−∂x(u²/2)", "−∂y(u²/2)", "u", "u²", "u³"]
    assert [c.term["block"] for c in six] == [
        "diffusion:diffusion",
        *["transport:transport"] * 2,
        *["polynomial:power"] * 3,
    ]
    assert [c.term.get("coefficient", 1) for c in six] == [1, -1, -1, 1, 1, 1]


def test_one_transport_per_dimension() -> None:
    assert labels(dictionary("paper-six").candidates("c", ("c",), 1)) == ["Δc", "−∂x(c²/2)", "c", "c²", "c³"]
    assert "−∂z(c²/2)" in labels(dictionary("paper-six").candidates("c", ("c",), 3))


def test_monomials_of_one_field() -> None:
    found = dictionary("polynomial-diffusion", max_degree=4).candidates("u", ("u",), 2)
    assert labels(found) == ["Δu", "u", "u²", "u³", "u⁴"]


def test_products_of_two_fields() -> None:
    found = dictionary("polynomial-diffusion").candidates("v", ("u", "v"), 2)
    assert labels(found) == ["Δv", "v", "u", "v²", "v·u", "u²", "v³", "v²·u", "v·u²", "u³"]
    assert found[7].term == {"block": "polynomial:product", "powers": {"v": 2, "u": 1}}


def test_options_of_the_polynomial_dictionary() -> None:
    def listed(**params: Any) -> list[str]:
        return labels(dictionary("polynomial-diffusion", **params).candidates("u", ("u", "v"), 2))

    assert listed(max_degree=2, products=False) == ["Δu", "u", "v", "u²", "v²"]
    assert listed(max_degree=1, constant=True, cross_diffusion=True) == ["Δu", "Δv", "1", "u", "v"]


@pytest.mark.parametrize(("fields", "degree"), [(1, 3), (2, 3), (3, 4)])
def test_every_monomial_is_listed_once(fields: int, degree: int) -> None:
    found = dictionary("polynomial-diffusion", max_degree=degree).candidates("u", tuple("uvw"[:fields]), 2)
    assert len(found) == 1 + math.comb(fields + degree, degree) - 1
    assert len(set(labels(found))) == len(found)


# --- the candidates as terms of an equation ---------------------------------------------------------------------------


def responses(candidates: Sequence[Candidate], fields: tuple[str, ...] = ("u",)) -> dict[str, tuple[Tensor, Tensor]]:
    """Label → (realised response q, closed form ∫ φ_i L(u) of the initial states) in the equation of u."""
    found: dict[str, tuple[Tensor, Tensor]] = {}
    for candidate in candidates:
        equations = {name: [dict(candidate.term)] for name in fields}
        d = problem(equations, DISK, K=9)
        system = d.system
        field = system.fields["u"]
        q = system.rhs(d.initial, 0.0)[system.slices["u"]]
        at = field.interior.at
        jets = {n: f.interior.of_state(d.initial[system.slices[n]], None) for n, f in system.fields.items()}
        u, v = jets["u"], jets.get("v", jets["u"])
        closed = {
            "Δu": u.laplacian, "Δv": v.laplacian, "1": torch.ones_like(at.x[:, 0]),
            "−∂x(u²/2)": -u.value * u.grad[0], "−∂y(u²/2)": -u.value * u.grad[1],
            "u": u.value, "u²": u.value**2, "u³": u.value**3, "v": v.value, "v²": v.value**2, "u·v": u.value * v.value,
        }  # fmt: skip
        found[candidate.label] = q, field.project_values(closed[candidate.label])
    return found


def test_realised_responses_of_the_six() -> None:
    """q equals ∫ φ_i L(u); in particular the transports carry the minus sign."""
    found = responses(dictionary("paper-six").candidates("u", ("u",), 2))
    assert len(found) == 6
    for label, (q, closed) in found.items():
        assert (q - closed).norm() < 1e-6 * closed.norm(), label


def test_realised_responses_of_products() -> None:
    params = {"max_degree": 2, "constant": True, "cross_diffusion": True}
    found = responses(dictionary("polynomial-diffusion", **params).candidates("u", ("u", "v"), 2), ("u", "v"))
    assert list(found) == ["Δu", "Δv", "1", "u", "v", "u²", "u·v", "v²"]
    for label, (q, closed) in found.items():
        assert (q - closed).norm() < 1e-6 * closed.norm(), label


@pytest.mark.parametrize(
    ("domain", "dim"), [({"kind": "interval", "left": 0, "right": 1}, 1), (DISK, 2)], ids=["interval", "disk"]
)
@pytest.mark.parametrize("name", ["paper-six", "polynomial-diffusion"])
def test_all_candidates_make_a_valid_equation(name: str, domain: dict[str, Any], dim: int) -> None:
    fields = ("u", "v")
    equations = {f: [dict(c.term) for c in dictionary(name).candidates(f, fields, dim)] for f in fields}
    document = {
        "domain": domain,
        "fields": {f: {"initial": 0, "boundary": [{"kind": "dirichlet"}], "equation": e} for f, e in equations.items()},
        "time": {"end": 1},
    }
    loaded = load_problem(document)
    assert [len(f.terms) for f in loaded.fields] == [len(equations[f]) for f in fields]


# --- the pack -------------------------------------------------------------------------------------------------------


def test_examples_validate() -> None:
    for entry in gleg_dictionaries():
        for example in entry.examples:
            assert dictionary(entry.name, **example).candidates("u", ("u", "v"), 2)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("paper-six", {"max_degree": 3}),
        ("polynomial-diffusion", {"max_degree": 0}),
        ("polynomial-diffusion", {"max_degree": 7}),
        ("polynomial-diffusion", {"degree": 2}),
    ],
)
def test_bad_parameters_are_refused(name: str, params: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        dictionary(name, **params)


def test_the_whole_pack_does_without_torch() -> None:
    code = (
        "import sys, gleg_dictionary.pack as p, gleg_dictionary.params, gleg_dictionary.paper_six;"
        "import gleg_dictionary.polynomial_diffusion; p.gleg_dictionaries(); print('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
