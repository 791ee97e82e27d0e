"""Formulas evaluated together for many times, against the same formulas of numbers, one time and point after the other."""

import math

import numpy as np
import pytest
import torch

from gleg_core.contracts.location import Location
from gleg_core.expressions import Evaluator, Expression, formula
from gleg_core.expressions.program import POINTS, VALUES, Program, spans
from gleg_core.expressions.separate import rank, separated

FORMULAS = [
    "tanh(3*(x*cos(t) + y*sin(t) - 0.2*t))*(1 - x^2)*exp(-((x - 0.3*sin(t))/0.4)^2 - y^2)",
    "besselj(2, 5*x + t) + erf(x*t - y) + atan2(y + 2, x*t + 3) + sqrt(2 + x*t) + log(3 + y*t)",
    "min(x, y*t)*max(x*t, y) + abs(x - t*y) + sign(x*t - 0.3) + step(y - x*t) + (2 + x*t)^y",
    "(1.5 + x*t)^(-3) + (x + t)^7 + (2 + x*y*t)^0.5 + asin(x*t/9) + acos(y*t/9) + atan(x*t)",
    "sin(x*t)*cos(y*t^2) + sinh(x*t)/cosh(y + t) + tan(0.1*x*t) + sigmoid(x*t - y) + gauss(x + y*t)",
]
T, N = 21, 2 * POINTS + 301


def place_and_times() -> tuple[Location, torch.Tensor]:
    """So many that there are several blocks, in times and in points, of unequal sizes."""
    x = 2 * torch.rand(N, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1)) - 1
    return Location(x), torch.linspace(0.05, 1.3, T, dtype=torch.float64)[:, None]


def of_numbers(f: Expression, place: Location, times: torch.Tensor, rows: list[int], columns: list[int]) -> np.ndarray:
    def at(i: int, j: int) -> float:
        x, y = place.x[j].tolist()
        return f(x=x, y=y, t=float(times[i]))

    return np.array([[at(i, j) for j in columns] for i in rows])


@pytest.mark.parametrize("text", FORMULAS)
def test_derivatives_together(text: str) -> None:
    f = formula(text)
    wanted = [f, f.d("t"), f.d("x"), f.d("y"), f.d("x", "x"), f.d("x", "y"), f.d("t")]
    place, times = place_and_times()
    values = place.moment(times).evaluator().together(wanted)
    rows, columns = [0, 7, 8, 15, T - 1], [0, 1, POINTS - 1, POINTS, N // 2, N - 1]
    for g, value in zip(wanted, values, strict=True):
        assert value.shape == (T, N)
        expected = of_numbers(g, place, times, rows, columns)
        assert value[np.ix_(rows, columns)] == pytest.approx(expected, rel=1e-11, abs=1e-11 * np.abs(expected).max())


def test_results_are_not_overwritten() -> None:
    """A wanted formula that others are made of keeps its values; so do those of an earlier call."""
    f = formula("tanh(x*t + y)")
    g = formula("f^3 + exp(f)", names={"f": f})
    place, times = place_and_times()
    evaluator = place.moment(times).evaluator()
    first, second = evaluator.together([f, g])
    kept = first.copy()
    evaluator.together([g.d("x"), g.d("t")])
    assert np.array_equal(first, kept)
    assert np.allclose(second, kept**3 + np.exp(kept), rtol=1e-14)


def test_few_arrays_are_in_use() -> None:
    """The second derivative of a sum of a hundred bumps takes a thousand steps in a handful of arrays."""
    bumps = formula("+".join(f"exp(-(x - 0.0{k}*t)^2*(1 + t*y*{k}))" for k in range(1, 101)))
    program = Program([bumps.d("x", "x").node])
    assert len(program._steps) > 1000 and program._arrays < 10


def test_spans() -> None:
    assert [s.stop - s.start for s in spans(17, 8)] == [6, 6, 5]
    assert [s.stop - s.start for s in spans(9, 8)] == [5, 4]
    assert spans(0, 8) == [] and spans(5, 8) == [slice(0, 5)]
    assert VALUES >= POINTS


def test_no_points_and_no_place() -> None:
    times = torch.linspace(0, 1, 4, dtype=torch.float64)[:, None]
    nowhere = Location(torch.zeros(0, 2, dtype=torch.float64)).moment(times)
    assert nowhere(formula("tanh(x*t)")).shape == (4, 0)
    place, _ = place_and_times()
    values = place.moment(times).evaluator().together([formula("3"), formula("x"), formula("sin(t)")])
    assert values[0] == 3.0 and values[1].shape == (N,) and values[2].shape == (4, 1)


def test_gradients_with_respect_to_places_and_times() -> None:
    """Values that are to be differentiated agree with those that are not, and so do their slopes with the derivative."""
    f = formula("tanh(x*t)*sin(2*x + 3*t)")
    x = torch.rand(30, 1, dtype=torch.float64)
    times = torch.linspace(0.1, 1, 4, dtype=torch.float64)[:, None]
    plain = Location(x)
    moved, later = Location(x.clone().requires_grad_()).moment(times), plain.moment(times.clone().requires_grad_())
    assert isinstance(later.t, torch.Tensor)
    for at, variable, slope in (
        (moved, moved.x, plain.moment(times)(f.d("x")).sum(0)),
        (later, later.t, plain.moment(times)(f.d("t")).sum(1)),
    ):
        assert torch.allclose(at(f), plain.moment(times)(f), rtol=1e-14)
        assert torch.allclose(torch.autograd.grad(at(f).sum(), variable)[0][:, 0], slope, rtol=1e-12)


def test_constants_stand_in_front() -> None:
    """Products that differ by a number share the rest, but numbers are not joined beyond what a double holds."""
    assert formula("(2*x)*(3*y)").node is formula("6*(x*y)").node
    assert formula("(1e200*x)*(1e200*y)")(x=1e-200, y=1e-200) == pytest.approx(1.0)
    assert formula("(1e-200*x)*(1e-200*y)")(x=1e200, y=1e200) == pytest.approx(1.0)
    assert formula("0*x").number == 0.0


def test_equal_products_are_found_in_any_order() -> None:
    f = formula("sin(t)*(x*sin(y)) + cos(t)*(sin(y)*x) + exp(-t)*x*2*sin(y)")
    terms = separated(f.node)
    assert terms is not None and rank(terms) == 1
    wave = formula("(x^2 + y^2)*(1 + 0.3*sin(t))*sin(2*x + t)*cos(y - 2*t)")
    orders = [[], ["t"], ["x"], ["x", "x"], ["y", "t"]]
    for derivative in (wave.d(*names) if names else wave for names in orders):
        terms = separated(derivative.node)
        assert terms is not None and rank(terms) <= 8


def test_sines_of_many_and_of_few_numbers_agree() -> None:
    v = np.linspace(-50, 50, 5001)
    for name, function in (("sin", math.sin), ("cos", math.cos)):
        many = formula(f"{name}(x)")(x=v)
        assert many == pytest.approx([function(a) for a in v], rel=1e-15, abs=1e-15)
        assert formula(f"{name}(x)")(x=v[::2]) == pytest.approx(many[::2], rel=1e-15, abs=1e-15)
        assert Evaluator({"x": v.astype(np.float32)})(formula(f"{name}(x)")).dtype == np.float32
