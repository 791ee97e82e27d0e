"""Formulas as sums of products of functions of time and of place, and their evaluation for many times at once."""

import pytest
import torch

from gleg_core.contracts.location import Location
from gleg_core.expressions import formula
from gleg_core.expressions.separate import MOST_TERMS, rank, separated, worthwhile

SEPARABLE = {
    "3*x*t + y": 2,
    "sin(2*x + 3*t)": 2,
    "cos(x - 2*t + y)*sin(3*y + t)": 4,
    "(x + t)^3": 4,
    "(x^2 + sin(t))*(y + cos(2*t))/(1 + x^2)": 4,
    "sin(2*pi*x + 5*t)*(1 + 0.3*cos(t))*exp(-x^2)*exp(-t)": 2,
    "(x*t + y)/(2 + cos(t))": 2,
}
NOT_SEPARABLE = ["exp(-(x - t)^2)", "tanh(x*t)", "sin(x*t)", "1/(x + t)", "sqrt(x^2 + t^2)", "(x + t)^0.5"]


def evaluated(text: str, n: int = 40, T: int = 9) -> tuple[torch.Tensor, torch.Tensor]:
    """The formula for many times at once, and one time after the other."""
    f = formula(text)
    generator = torch.Generator().manual_seed(0)
    at = Location(torch.rand(n, 2, dtype=torch.float64, generator=generator) + 0.1)
    times = torch.linspace(0.1, 2.0, T, dtype=torch.float64)[:, None]
    together = torch.cat([at.moment(times)(f)])
    return together, torch.stack([at.moment(float(t))(f).expand(n) for t in times[:, 0]])


@pytest.mark.parametrize("text", SEPARABLE)
def test_terms_and_values(text: str) -> None:
    terms = separated(formula(text).node)
    assert terms is not None and rank(terms) == SEPARABLE[text]
    for times, places in terms:
        assert all(time.free == {"t"} for time in times) and all("t" not in place.free for place in places)
    together, one_by_one = evaluated(text)
    assert torch.allclose(together, one_by_one, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("text", NOT_SEPARABLE)
def test_what_has_no_such_form_is_evaluated_as_it_is(text: str) -> None:
    assert separated(formula(text).node) is None
    together, one_by_one = evaluated(text)
    assert torch.allclose(together, one_by_one, rtol=1e-13, atol=1e-14)


def test_parts_of_a_formula_are_separated() -> None:
    """tanh of a separable argument, times a separable factor: the parts are products, the whole is not."""
    text = "tanh(sin(x + t)*cos(y - t) + x*t)*(x*sin(t) + y*cos(t) + x*y*t)"
    assert separated(formula(text).node) is None
    together, one_by_one = evaluated(text)
    assert torch.allclose(together, one_by_one, rtol=1e-13, atol=1e-14)


def test_too_many_terms_and_too_little_work() -> None:
    many = "*".join(f"(x^{k} + sin({k}*t))" for k in range(1, 12))
    assert separated(formula(many).node) is None and MOST_TERMS < 2**11
    assert worthwhile(formula("x + t").node) is None
    together, one_by_one = evaluated(many)
    assert torch.allclose(together, one_by_one, rtol=1e-12)


def test_pieces_of_a_column_share_functions_of_time() -> None:
    f = formula("sin(2*x + 3*t)*cos(t)^2 + tanh(x*t)*exp(-t)")
    at = Location(torch.rand(50, 2, dtype=torch.float64))
    times = torch.linspace(0, 1, 31, dtype=torch.float64)[:, None]
    pieces = at.moments(times, most=200)
    assert [len(p.t) for p in pieces] == [4] * 7 + [3]
    assert torch.allclose(torch.cat([p(f) for p in pieces]), at.moment(times)(f), rtol=1e-14, atol=1e-15)


def test_derivatives_of_separated_formulas_are_exact() -> None:
    f = formula("sin(2*x + 3*t)*y")
    together, one_by_one = evaluated("2*cos(2*x + 3*t)*y")
    at = Location(torch.rand(40, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) + 0.1)
    times = torch.linspace(0.1, 2.0, 9, dtype=torch.float64)[:, None]
    assert torch.allclose(at.moment(times)(f.d("x")), together, rtol=1e-13, atol=1e-14)
    assert torch.allclose(together, one_by_one, rtol=1e-13, atol=1e-14)
