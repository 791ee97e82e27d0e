"""The derivative of a system at a state against differences of its right-hand side."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from gleg_core.algebra.sparse_linear import SparsePart
from gleg_core.spec.problem import load_problem
from gleg_core.system.discretise import discretise
from gleg_core.system.reduced import ReducedSystem

BASES = {
    "fourier": {"kind": "fourier", "K": 12},
    "elements": {"kind": "elements", "size": 0.4, "order": 3, "tolerance": 1e-2},
}
SQUARE = {"kind": "rectangle", "x": [0, 1], "y": [0, 1]}
DIFFUSION = {"block": "diffusion", "coefficient": 0.1}


def two_fields(domain: dict[str, Any], basis: str, steady: bool = False) -> tuple[ReducedSystem, Tensor]:
    """Reactions, nonlinear diffusion and transport of two fields, one with moving data, the other with a flux through ∂Ω."""
    fields = {
        "u": {
            "initial": "1 + 0.3*cos(2*x)",
            "boundary": [{"kind": "dirichlet", "value": "1 + 0.2*sin(3*t + x)"}],
            "equation": [
                {"block": "nonlinear-diffusion", "diffusivity": "0.1 + u^2"},
                {"block": "product", "powers": {"u": 1, "v": 2}, "coefficient": "-1 - 0.5*sin(t)"},
                {"block": "power", "of": "v", "coefficient": "1 + x*cos(t)"},
                {"block": "transport", "direction": "x", "coefficient": -0.5},
            ],
        },
        "v": {
            "initial": "2 - x^2/2",
            "boundary": [{"kind": "robin", "kappa": 0.7, "value": "0.3*cos(t)"}],
            "equation": [
                {**DIFFUSION, "coefficient": "0.2 + 0.1*sin(t)"},
                {"block": "product", "powers": {"u": 2, "v": 1}, "coefficient": -1},
                {"block": "nonlinear-diffusion", "diffusivity": "exp(-u)"},
            ],
        },
    }
    if steady:
        fields["w"] = {
            "initial": 0,
            "steady": True,
            "boundary": [{"kind": "dirichlet"}],
            "equation": [DIFFUSION, {"block": "power", "of": "u"}],
        }
        fields["v"]["equation"].append({"block": "product", "powers": {"v": 1, "w": 1}})
    problem = {"domain": domain, "basis": BASES[basis], "fields": fields, "time": {"end": 1, "step": 0.1}}
    made = discretise(load_problem(problem))
    return made.system, made.initial


def difference(system: ReducedSystem, z: Tensor, t: float, v: Tensor) -> Tensor:
    """∂(A z + n)/∂z v."""
    return (system.rhs(z + 1e-5 * v, t) - system.rhs(z - 1e-5 * v, t)) / 2e-5


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("domain", [{"kind": "interval", "left": 0, "right": 1}, SQUARE], ids=lambda d: d["kind"])
def test_the_derivative_of_two_fields(domain: dict[str, Any], basis: str) -> None:
    system, z = two_fields(domain, basis)
    part, v = system.linearised(z, 0.3), torch.randn(2, len(z), dtype=torch.float64)
    assert isinstance(part, SparsePart) == (basis == "elements")
    for direction in v:
        expected = difference(system, z, 0.3, direction)
        assert float((part.apply(direction) - expected).norm()) < 1e-6 * float(expected.norm())
    g = 1e-3
    solved = part.resolvent(g)(v)
    assert float((solved - g * part.apply(solved) - v).norm()) < 1e-9 * float(v.norm())


def test_what_steady_fields_pass_on() -> None:
    system, z = two_fields({"kind": "interval", "left": 0, "right": 1}, "fourier", steady=True)
    v = torch.randn(len(z), dtype=torch.float64)
    expected = difference(system, z, 0.3, v)
    assert float((system.linearised(z, 0.3).apply(v) - expected).norm()) < 1e-6 * float(expected.norm())


@pytest.mark.parametrize("basis", BASES)
def test_members_of_a_batch_have_derivatives_of_their_own(basis: str) -> None:
    """Other states, and other coefficients."""
    system, z = two_fields({"kind": "interval", "left": 0, "right": 1}, basis)
    factors = torch.tensor([[1.0], [3.0]], dtype=torch.float64)
    scales = [factors if term.block.traits.degree not in (1,) else None for term, _ in system.modes]
    both, states = system.scaled(scales), torch.stack([z, 0.5 * z])
    f = torch.randn(2, len(z), dtype=torch.float64)
    found = both.linearised(states, 0.3).solution(0.01)(f)
    for i, factor in enumerate(factors):
        one = system.scaled([None if s is None else factor for s in scales])
        assert torch.allclose(found[i], one.linearised(states[i], 0.3).solution(0.01)(f[i]), rtol=1e-9, atol=1e-12)


def test_a_system_says_whether_time_is_in_it() -> None:
    still = {"initial": "x", "boundary": [{"kind": "neumann"}], "equation": [DIFFUSION, {"block": "power", "p": 2}]}
    for changes, autonomous in (
        ({}, True),
        ({"equation": [{**DIFFUSION, "coefficient": "1 + t"}]}, False),
        ({"equation": [DIFFUSION, {"block": "source", "value": "sin(t)"}]}, False),
        ({"boundary": [{"kind": "dirichlet", "value": "t"}]}, False),
    ):
        problem = {
            "domain": {"kind": "interval", "left": 0, "right": 1},
            "basis": BASES["fourier"],
            "fields": {"u": {**still, **changes}},
            "time": {"end": 1},
        }
        assert discretise(load_problem(problem)).system.autonomous == autonomous
