"""Piecewise formulas against numpy.where written by hand, finite differences and their own smooth pieces."""

from __future__ import annotations

import math
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml

from gleg_core.contracts.location import Location
from gleg_core.expressions import Evaluator, FormulaError, formula, switches
from gleg_core.expressions.nodes import walk
from gleg_core.expressions.separate import separated
from gleg_core.expressions.switches import MOST, written
from gleg_core.spec.names import objection, read_formulas
from gleg_core.spec.params import Scope

PAGE = Path(__file__).parents[2] / "docs" / "formulas.md"
Array = np.ndarray
HAND: dict[str, Callable[[Array, Array, Array], Array]] = {
    "where(x^2 + y^2 < 0.3, 1, 1000)": lambda x, y, t: np.where(x**2 + y**2 < 0.3, 1.0, 1000.0),
    "where(0 < x <= 0.5, x*t, sin(y))": lambda x, y, t: np.where((x > 0) & (x <= 0.5), x * t, np.sin(y)),
    "where(x > 0, sqrt(abs(x))*log(x), y)": lambda x, y, t: np.where(x > 0, np.sqrt(abs(x)) * np.log(x), y),
    "where(x >= t and not y < 0, exp(x*t), 0)": lambda x, y, t: np.where((x >= t) & ~(y < 0), np.exp(x * t), 0.0),
    "where(x < t or y > t or t > 0.9, x - t, y/t)": lambda x, y, t: np.where((x < t) | (y > t) | (t > 0.9), x - t, y / t),
    "where(x < 0, where(y < t, 1, 1/x), where(y > 0, y^t, x*t))": lambda x, y, t: np.where(
        x < 0, np.where(y < t, 1.0, 1 / x), np.where(y > 0, y**t, x * t)
    ),
    "3*(x < y) - (x <= y)*(t > 0.5)": lambda x, y, t: 3.0 * (x < y) - 1.0 * (x <= y) * (t > 0.5),
    "where(max(x < 0, y < 0), t, step(x - y))": lambda x, y, t: np.where((x < 0) | (y < 0), t, 1.0 * (x >= y)),
    "1 + where(t < 0.5, cos(t), x)*where(x < 0, tanh(y*t), 2)": lambda x, y, t: (
        1 + np.where(t < 0.5, np.cos(t), x) * np.where(x < 0, np.tanh(y * t), 2.0)
    ),
}  # fmt: skip


def points(n: int = 300) -> Array:
    """Columns x, y in (−1, 1) and t in (0.1, 1)."""
    u = np.random.default_rng(3).uniform(-1, 1, (3, n))
    u[2] = 0.55 + 0.45 * u[2]
    return u


def by_hand(text: str, *at: Array) -> Array:
    with np.errstate(all="ignore"):
        return HAND[text](*at)


@pytest.mark.parametrize("text", HAND)
def test_values(text: str, recwarn: pytest.WarningsRecorder) -> None:
    x, y, t = points()
    expected = by_hand(text, x, y, t)
    assert np.isfinite(expected).all()
    f = formula(text)
    assert f(x=x, y=y, t=t) == pytest.approx(expected, rel=1e-13)
    tensors = (torch.from_numpy(v) for v in (x, y, t))
    assert np.asarray(f(**dict(zip("xyt", tensors, strict=True)))) == pytest.approx(expected, rel=1e-13)
    numbers = [f(x=float(a), y=float(b), t=float(c)) for a, b, c in zip(x, y, t, strict=True)]
    assert numbers == pytest.approx(expected.tolist(), rel=1e-13)
    assert not recwarn.list


@pytest.mark.parametrize("text", HAND)
def test_programs(text: str) -> None:
    """For many times at once, in blocks, together with derivatives; arrays are used again."""
    x, y, _ = points(5000)
    times = np.linspace(0.1, 1, 9)[:, None]
    place = Location(torch.from_numpy(np.stack([x, y], 1)))
    f = formula(text)
    wanted = [f, f.d("x"), f.d("t"), f.d("x", "t")]
    values = place.moment(torch.from_numpy(times)).evaluator().together(wanted)
    rows = [place.moment(float(t)).evaluator().together(wanted) for t in times[:, 0]]
    shape = 9, 5000
    assert np.broadcast_to(values[0], shape) == pytest.approx(
        np.broadcast_to(by_hand(text, x, y, times), shape), rel=1e-12
    )
    for i, value in enumerate(values):
        expected = np.stack([np.broadcast_to(row[i], 5000) for row in rows])
        assert np.isfinite(expected).all()
        assert np.broadcast_to(value, shape) == pytest.approx(expected, rel=1e-11, abs=1e-13)


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1)])
def test_a_result_may_take_the_place_of_any_operand(order: tuple[int, int, int]) -> None:
    from gleg_core.expressions.functions import table

    select = table("numpy")["where"]
    for out in range(3):
        slots = [np.array([1.0, 0.0, 1.0]), np.array([0.0, 2.0, math.nan]), np.array([5.0, 1.0, 0.0])]
        c, a, b = (slots[i] for i in order)
        expected = [p if q else r for q, p, r in zip(c.tolist(), a.tolist(), b.tolist(), strict=True)]
        assert select(c, a, b, slots[out]) is slots[out]
        assert slots[out] == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("text", HAND)
def test_derivatives_by_finite_differences(text: str) -> None:
    h = 1e-6
    x, y, t = points()
    f = formula(text)
    levels = np.array([np.broadcast_to(s.level(x=x, y=y, t=t), x.shape) for s in switches(f)])
    away = (abs(levels) > 1e-2).all(0)
    assert away.sum() > 200
    x, y, t = x[away], y[away], t[away]
    for i, name in enumerate("xyt"):
        up, down = ([v + (sign * h if i == j else 0) for j, v in enumerate((x, y, t))] for sign in (1, -1))
        expected = (by_hand(text, *up) - by_hand(text, *down)) / (2 * h)
        found = np.broadcast_to(f.d(name)(x=x, y=y, t=t), x.shape)
        assert found == pytest.approx(expected, rel=1e-5, abs=1e-6)


# --- the branch that is not taken -----------------------------------------------------------------------------------

GUARDS = {
    "where(x > 0, sqrt(x), 0)": lambda x: 0.5 / math.sqrt(x) if x > 0 else 0.0,
    "where(x > 0, log(x), x^2)": lambda x: 1 / x if x > 0 else 2 * x,
    "where(x < 0 or x > 0, sin(x)/x, 1)": lambda x: (x * math.cos(x) - math.sin(x)) / x**2 if x else 0.0,
    "x*where(x <= 0, 1, 1/x) + sqrt(abs(x) + 1)": lambda x: (
        (1.0 if x <= 0 else 0.0) + math.copysign(bool(x), x) / 2 / math.sqrt(abs(x) + 1)
    ),
    "where(x > 0, where(x > 0.4, sqrt(x - 0.4), sqrt(x)), exp(x))": lambda x: (
        math.exp(x) if x <= 0 else 0.5 / math.sqrt(x - 0.4 if x > 0.4 else x)
    ),
    "where(where(x > 0, log(x), 0) < -1, x^2, 3*x)": lambda x: 2 * x if 0 < x < math.exp(-1) else 3.0,
}
AT = [-0.7, 0.0, 0.2, 0.9]


@pytest.mark.parametrize("text", GUARDS)
def test_undefined_values_do_not_pass(text: str) -> None:
    f, expected = formula(text), [GUARDS[text](x) for x in AT]
    slope = f.d("x")
    assert [slope(x=x) for x in AT] == pytest.approx(expected)
    assert slope(x=np.array(AT)) == pytest.approx(expected)
    x = torch.tensor(AT, dtype=torch.float64, requires_grad=True)
    value = f(x=x)
    assert value.tolist() == pytest.approx([f(x=v) for v in AT])
    assert slope(x=x).tolist() == pytest.approx(expected)
    (gradient,) = torch.autograd.grad(value.sum(), x, create_graph=True)
    assert gradient.tolist() == pytest.approx(expected)
    (curvature,) = torch.autograd.grad(gradient.sum(), x)
    assert curvature.tolist() == pytest.approx([f.d("x", "x")(x=v) for v in AT])


def test_gradients_of_shared_parts() -> None:
    """√x is needed everywhere by one user, in part by another; y and t have other shapes, k is a number that is learned."""
    f = formula("where(x > t, k*r*log(x - t), y) + r*where(t > 0.5, 1/(t - 0.5), r)", names={"r": formula("sqrt(x)")},
                variables=("x", "y", "t", "k"))  # fmt: skip
    x = torch.tensor([0.2, 0.5, 0.8], dtype=torch.float64, requires_grad=True)
    t = torch.tensor([[0.2], [0.5], [0.9]], dtype=torch.float64, requires_grad=True)
    k = torch.tensor(1.7, dtype=torch.float64, requires_grad=True)
    at = {"x": x, "t": t, "y": x.detach() + 1, "k": k}
    value = f(**at)
    gradients = torch.autograd.grad(value.sum(), (x, t, k))
    plain = {n: v.detach() for n, v in at.items()}
    assert torch.equal(value, f(**plain))
    for name, gradient, over in (("x", gradients[0], (0,)), ("t", gradients[1], (1,)), ("k", gradients[2], (0, 1))):
        expected = f.d(name)(**plain).expand(3, 3).sum(over)
        assert torch.isfinite(expected).all()
        assert torch.allclose(gradient.reshape(expected.shape), expected, rtol=1e-12)


def test_conditions_on_numbers_next_to_tensors() -> None:
    x = torch.tensor([0.0, 0.5], dtype=torch.float64, requires_grad=True)
    f = formula("where(t > 1, sqrt(x), where(t > 0.5, x^2, 7))")
    for t, value, slope in ((0.7, [0.0, 0.25], [0.0, 1.0]), (2.0, [0.0, 0.5**0.5], [math.inf, 0.5**0.5])):
        found = f(x=x, t=t)
        assert found.tolist() == pytest.approx(value)
        assert torch.autograd.grad(found.sum(), x)[0].tolist() == pytest.approx(slope)
    assert f(x=x, t=0.1) == 7.0
    single = torch.tensor([1.0, -1.0], dtype=torch.float32)
    assert formula("where(x < 0, 2, 3)")(x=single).dtype == torch.float32


def test_nested_choices_cost_no_more_than_their_parts() -> None:
    """Sixty choices, each made of the one before it twice, written out 2⁶⁰: also with gradients."""
    f = formula("x")
    for i in range(60):
        f = formula(f"where(x < {i}/60, 0.5*f + 1, sin(f) - y)", names={"f": f})
    assert sum(1 for _ in walk(f.d("x").node)) < 2000
    x = torch.linspace(0.05, 0.95, 7, dtype=torch.float64).requires_grad_()
    start = time.perf_counter()
    (gradient,) = torch.autograd.grad(f(x=x, y=0.3).sum(), x)
    assert time.perf_counter() - start < 5
    assert torch.allclose(gradient, f.d("x")(x=x.detach(), y=0.3))


def test_nan_is_in_no_order() -> None:
    for text in ("x < 1", "x <= 1", "x > 1", "x >= 1"):
        assert formula(text)(x=math.nan) == 0.0
        assert formula(text)(x=np.array([math.nan])) == 0.0
        assert formula(text)(x=torch.tensor([math.nan])) == 0.0
    assert formula("not x < 1")(x=math.nan) == 1.0


# --- graphs ---------------------------------------------------------------------------------------------------------


def test_what_is_decided_is_left_out() -> None:
    assert formula("where(1 < 2, x, y)") == formula("x") and formula("where(2 <= 1, x, y)") == formula("y")
    assert formula("where(k > 0, log(k), x)", names={"k": -1.0}) == formula("x")
    assert formula("where(x < 1, y, y)") == formula("y")
    assert formula("not not x < 1") == formula("x < 1") == formula("1 > x")
    assert formula("x < 1 and 1 < 2") == formula("2 > 1 and x < 1") == formula("x < 1 or 3 < 2") == formula("x < 1")
    assert formula("x < 1 and 2 < 1").number == 0.0 and formula("x < 1 or 1 <= 1").number == 1.0
    assert formula("0 <= 1 < 2 > 1 >= 1").number == 1.0 and formula("0 < x < 0 < 0").number == 0.0
    assert formula("where(x < 0, log(x), 2)", (), {"x": 1.0}).number == 2.0
    assert formula("where(x < t, x^2, t)").d("x") == formula("where(x < t, 2*x, 0)")
    assert formula("x < t and not y >= 0").d("x").number == 0.0


def test_named_conditions() -> None:
    inside = formula("x^2 + y^2 < 1")
    f = formula("where(inside and not 0 < x < 0.5, 1, 2)", names={"inside": inside})
    assert [f(x=x, y=0.0) for x in (-0.5, 0.25, 0.5, 2.0)] == [1.0, 2.0, 1.0, 2.0]
    assert formula("where(on, x, y)", names={"on": 1.0}) == formula("x")


def test_choices_are_kept_whole_or_are_functions_of_place() -> None:
    terms = separated(formula("where(x < 0, 1, y)*sin(2*x + t)").node)
    assert terms is not None and len(terms) == 2
    assert separated(formula("where(x < 0, t, 1/t)").node) is None
    place = Location(torch.tensor([[-1.0], [1.0]], dtype=torch.float64))
    times = torch.tensor([[0.0], [0.5]], dtype=torch.float64)
    f = formula("where(x < 0, x*t, (x + t)*(1/t + x/t)) + sin(x + t)*cos(t)")
    value = place.moment(times)(f)
    assert torch.isfinite(value).tolist() == [[True, False], [True, True]], "1/t at t = 0 stays on its side"


def test_evaluators_share_parts() -> None:
    calls = []

    class Counting(Evaluator):
        def _compute(self, node: Any, values: Any = None) -> Any:
            calls.append(node.op)
            return super()._compute(node, values)

    evaluate = Counting({"x": 0.3, "y": 1.0})
    evaluate(formula("where(x < y, sin(x), cos(y)) + sin(x)"))
    assert calls.count("sin") == 1


# --- switches -------------------------------------------------------------------------------------------------------


def listed(text: str) -> set[tuple[str, bool]]:
    return {(s.level.text, s.jump) for s in switches(formula(text))}


def test_switches() -> None:
    assert listed("where(x^2 + y^2 < 0.1, 1, 1000)") == {("x^2 + y^2 - 0.1", True)}
    assert listed("step(t - x) + sign(3*y) + abs(y - 2)") == {("t - x", True), ("y", True), ("y - 2", False)}
    assert listed("min(x, y) + max(x, 0.5, t)") == {("x - y", False), ("x - 0.5", False), ("max(x, 0.5) - t", False)}
    assert listed("where(0 < x < 1 and not t <= y, abs(x), min(y, 3))") == {
        ("x", True), ("x - 1", True), ("t - y", True), ("y - 3", False)
    }  # fmt: skip
    assert listed("sqrt(x)*tanh(100*y)/x + x^0.5") == set()
    assert listed("heaviside(x)") == {("x", True)}


def test_each_switch_once() -> None:
    assert listed("where(x < y, 1, 2) + (y <= x) + max(y, x)") in ({("x - y", True)}, {("y - x", True)})
    assert listed("abs(x) + abs(2*x) + abs(-x)") == {("x", False)}
    assert listed("abs(x) + step(5*x)") == {("x", True)}
    assert listed("abs(x)*where(1 < 2, 1, step(y))") == {("x", False)}
    assert listed("where(min(x < 1, y < 1) > 0.5, 1, 2)") == {("x - 1", True), ("y - 1", True)}


@pytest.mark.parametrize("text", HAND)
def test_formulas_change_nowhere_else(text: str) -> None:
    """Along lines, jumps happen only where a level changes its sign; and where one does, it is in the list."""
    f = formula(text)
    s = np.linspace(0, 1, 20001)
    x, y, t = 1.9 * s - 0.93, 0.8 - 1.7 * s, 0.2 + 0.7 * s
    value = np.broadcast_to(f(x=x, y=y, t=t), s.shape)
    jumps = abs(np.diff(value)) > 0.1
    crossed = np.zeros(len(s) - 1, dtype=bool)
    for switch in switches(f):
        assert switch.jump
        crossed |= np.diff(np.sign(np.broadcast_to(switch.level(x=x, y=y, t=t), s.shape))) != 0
    assert not (jumps & ~crossed).any()


def test_switches_need_no_torch() -> None:
    program = (
        "import sys; from gleg_core.expressions import formula, switches;"
        "f = formula('where(x < 1 and not y >= 2, x, abs(y))'); assert len(switches(f)) == 3 and f.d('x')(x=0.0, y=0.0) == 1.0;"
        "print([m for m in ('numpy', 'scipy', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


WRITTEN = [
    *HAND,
    "-x^2 - (y - 2*x)*(-3 + t)", "x - (y - t)", "2^(-x)*(-x)^2/(y*t)/(x/y)", "-(2*x + y)*t", "besselj(2, x)^-1.5",
    "(x < 1) < y", "1e200*x*(-1e200*y)", "2*x/(3*y) - 1e-20", "atan2(-x, -(x + y))", "x^(y^t) - (x^y)^t",
]  # fmt: skip


@pytest.mark.parametrize("text", WRITTEN)
def test_formulas_are_written(text: str) -> None:
    f = formula(text)
    if "…" not in (again := written(f.node)):
        assert formula(again) == f


def test_long_formulas_are_not_written() -> None:
    f = formula("x + 1")
    for _ in range(60):
        f = formula("f*f - f", names={"f": f})
    assert len(written(f.node)) <= MOST


# --- what is refused ------------------------------------------------------------------------------------------------

REFUSED = [
    ("where(x < 1, 2)", "takes 3 arguments, found 2"),
    ("where()", "takes 3 arguments, found 0"),
    ("where(x < 1, 2, 3, 4)", "takes 3 arguments, found 4"),
    ("where", "write where(…)"),
    ("where(x, 1, 2)", "a condition such as x < 1 is needed where 'x' is"),
    ("where(2, 1, 2)", "a condition such as x < 1 is needed where '2' is"),
    ("where(2*(x < 1), 1, 2)", "a condition such as x < 1 is needed"),
    ("where(x = 1, 1, 2)", "cannot read"),
    ("where(c=x < 1, a=1, b=2)", "not allowed"),
    ("where(*x, 1, 2)", "not allowed"),
    ("where(x < 1, 1/0, 2)", "'1 / 0' has no finite value"),
    ("where(1 < 2, log(-1), 2)", "has no finite value"),
    ("where(1 < 2, 1, q)", "unknown name 'q'"),
    ("where(1 < 2, 1, __import__('os'))", "not allowed"),
    ("x == 1", "compare with <, <=, > or >="),
    ("0 < x != 1", "compare with <, <=, > or >="),
    ("x in y", "compare with <, <=, > or >="),
    ("x is y", "compare with <, <=, > or >="),
    ("x <", "conditions are like x < 1"),
    ("0.02 m^2/s", "a number has no unit here"),
    ("2e-3 cm", "a number has no unit here"),
    ("2x", "a product needs its"),
    ("x =< 1", "conditions are like x < 1"),
    ("x < 1 && y < 1", "conditions are like x < 1"),
    ("!(x < 1)", "conditions are like x < 1"),
    ("x < 1 and", "conditions are like x < 1"),
    ("(x < 1) | (y < 1)", "not allowed"),
    ("1 if x < 1 else 2", "where(condition, a, b)"),
    ("x < 1 and y", "where 'y' is"),
    ("not 2*x", "where '2 * x' is"),
    ("x < 'a'", "not allowed"),
    ("x < (lambda: 1)()", "not allowed"),
    ("not " * 4000 + "x < 1", "nested too deeply"),
    ("where(x < 1, " * 500 + "1", "cannot read"),
    ("x < 1 and " * 3000 + "1", "at most 20000 characters"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "says"), REFUSED, ids=[t[:20] for t, _ in REFUSED])
def test_a_formula_that_is_refused(text: str, says: str, recwarn: pytest.WarningsRecorder) -> None:
    start = time.perf_counter()
    with pytest.raises(FormulaError) as caught:
        formula(text)
    message = str(caught.value)
    assert says in message and len(message) < 400 and "\n" not in message
    assert time.perf_counter() - start < 5
    assert not recwarn.list


def test_long_conditions_are_read() -> None:
    f = formula(" and ".join(f"x < {i}" for i in range(1, 1500)))
    assert f(x=0.5) == 1.0 and f(x=3.0) == 0.0 and len(switches(f)) == 1499
    chain = formula("<".join(["0", *["x"] * 3000]))
    assert chain(x=1.0) == 0.0 and chain.d("x").number == 0.0


def test_where_is_no_name_any_more() -> None:
    assert "has a meaning" in (objection("where") or "")
    assert "reserved" in (objection("and") or "")


def test_the_page_on_formulas() -> None:
    """Its formulas are read from YAML as those of a problem file; it names what there is."""
    from gleg_core.expressions import FUNCTIONS

    page = PAGE.read_text(encoding="utf-8")
    assert set(re.findall(r"\w+", page)) >= FUNCTIONS
    block = re.findall(r"```yaml\n(.*?)```", page, re.S)[0]
    wrong: list[tuple[str, str]] = []
    found = read_formulas(yaml.safe_load(block), Scope(), lambda name, problem: wrong.append((name, problem)))
    assert not wrong and set(found) == {"inside", "stiffness", "pulse", "guarded"}
    guarded = found["guarded"]
    assert not isinstance(guarded, float)
    assert (
        [guarded(x=x) for x in (-1.0, 0.0, 1.0)] == [guarded.d("x")(x=x) - (x > 0) for x in (-1.0, 0.0, 1.0)] == [0] * 3
    )
