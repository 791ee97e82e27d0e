"""The reaction r(u): as a formula, as a series, its parameters."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from pydantic import ValidationError
from test_polynomial_blocks import N, block, jets, place, values

from gleg import solve
from gleg_blocks_polynomial.params import ReactionParams
from gleg_blocks_polynomial.reaction import LearnedReaction
from gleg_core.contracts.block import Binding
from gleg_core.contracts.location import Location
from gleg_core.errors import PackError, SpecError


def series(degree: int, low: float, high: float) -> LearnedReaction:
    return LearnedReaction.untrained(ReactionParams(degree=degree, range=(low, high)), Binding("u", ("u",), 2))


@pytest.mark.parametrize("batch", [(), (4,), (2, 3), (0,)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_formula_of_u(batch: tuple[int, ...], dtype: torch.dtype) -> None:
    u, v, w = values(*batch, dtype=dtype)
    found = block("reaction", rate="u*(1 - u)*(u - 0.3)").reference(jets(u, v, w), place(dtype=dtype))
    assert found.shape == (*batch, N) and found.dtype == dtype
    assert torch.allclose(found, u * (1 - u) * (u - 0.3), rtol=1e-5 if dtype == torch.float32 else 1e-13)
    other = block("reaction", rate="sin(u)", of="v").reference(jets(u, v, w), place(dtype=dtype))
    assert torch.allclose(other, torch.sin(v))


def test_a_constant_rate_fills_all_points() -> None:
    assert torch.equal(block("reaction", rate=2).reference(jets(*values(3)), place()), torch.full((3, N), 2.0).double())


def test_gradients_of_a_formula_are_exact() -> None:
    mechanism = block("reaction", rate="exp(-u)*sin(3*u)")
    u, v, w = values()
    assert torch.autograd.gradcheck(lambda n: mechanism.reference(jets(n, v, w), place()), (u.requires_grad_(True),))


def test_a_series_is_a_polynomial_inside_and_its_tangent_outside() -> None:
    """w = (½, 0, ½) on [−1, 3] is s² with s = (u − 1)/2; its slope at u = 3 is 1."""
    mechanism = series(2, -1.0, 3.0)
    assert mechanism.trainable
    with torch.no_grad():
        mechanism.module.weights.copy_(torch.tensor([0.5, 0.0, 0.5]))  # type: ignore[operator, union-attr]
    inside = torch.linspace(-1, 3, 41, dtype=torch.float64)
    assert torch.allclose(mechanism.rate(inside), ((inside - 1) / 2) ** 2, atol=1e-14)
    assert mechanism.rate(torch.tensor([5.0, -3.0], dtype=torch.float64)).tolist() == pytest.approx([3.0, 3.0])
    u = values()[0]
    assert torch.equal(mechanism.response(jets(u, u, u), Location(place().x)), mechanism.rate(u))


def test_the_response_is_linear_in_the_weights() -> None:
    """∂r_θ/∂w_k = T_k: Gauss–Newton solves for a reaction in one step."""
    mechanism = series(4, -1.0, 1.0)
    u = torch.linspace(-1, 1, 9, dtype=torch.float64)
    (gradient,) = torch.autograd.grad(mechanism.rate(u)[2], list(mechanism.module.parameters()))
    assert gradient.tolist() == pytest.approx(torch.cos(torch.arange(5) * torch.acos(u[2])).tolist())


def test_without_a_formula_there_is_no_reference() -> None:
    u = values()[0]
    with pytest.raises(PackError, match="learned from data: no formula is known"):
        series(2, -1.0, 1.0).reference(jets(u, u, u), place())


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"rate": "x + u"}, "rate"),
        ({"rate": "v"}, "rate"),
        ({"rate": "u", "weights": "r"}, "exclude each other"),
        ({"range": [1, 1]}, "the lower end must be below"),
        ({"degree": 1000}, "degree"),
        ({"rate": "u", "of": "q"}, "no field is called 'q'"),
    ],
)
def test_bad_parameters_of_a_reaction_are_refused(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        block("reaction", **params)


def test_a_formula_or_weights_are_needed() -> None:
    with pytest.raises(SpecError, match=r"needs 'rate' \(a formula of u\) or 'weights'"):
        block("reaction")


def test_a_reaction_with_an_exact_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    """u_t = sin u: tan(u/2) = tan(u₀/2) eᵗ at every point; constants of the file may stand in the formula."""
    monkeypatch.setenv("GLEG_CACHE", "off")
    problem = {
        "domain": {"kind": "disk", "radius": 0.6},
        "basis": {"kind": "fourier", "K": 10},
        "constants": {"c": 2},
        "fields": {
            "u": {
                "exact": "2*atan(tan((0.6 + 0.2*x*y)/2)*exp(2*t))",
                "boundary": [{"kind": "free"}],
                "equation": [{"block": "reaction", "rate": "c*sin(u)"}],
            }
        },
        "time": {"end": 0.5, "step": 0.01},
    }
    assert solve(problem).metrics["relative_l2"]["max"] < 1e-6
