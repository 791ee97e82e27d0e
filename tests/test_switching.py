"""Formulas of time that jump or have kinks: rollouts step from switch to switch and keep their order.

Independent: closed forms, Fourier series of the heat equation, and scipy's integrators.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

import gleg
from gleg_core.errors import NumericsError
from gleg_core.expressions import formula
from gleg_core.run import Run
from gleg_core.spec.switching import Switching, switching

BASES = {
    "fourier": {"kind": "fourier", "K": 8},
    "elements": {"kind": "elements", "order": 8, "size": 0.1},
}
FIXED = {"step": 0.02, "integrator": "imex-ark4"}
PULSE = {"block": "source", "value": "where(t < 0.3, 1, 0)"}


def interval(basis: str, *terms: dict, initial: Any = 1, boundary: list | None = None, **time: Any) -> dict[str, Any]:
    """u_t = u_xx + … on (0, 1); without flux, states that are constant in space stay so and follow an ordinary equation."""
    field = {
        "initial": initial,
        "boundary": boundary or [{"kind": "neumann"}],
        "equation": [{"block": "diffusion"}, *terms],
    }
    return {
        "domain": {"kind": "interval", "left": 0, "right": 1},
        "basis": BASES[basis],
        "fields": {"u": field},
        "time": {"end": 1, **time},
        "output": {"frames": 10},
    }


def error(run: Run, exact: Callable[[float], float], x: float = 0.3) -> float:
    return max(abs(float(run.u(x, float(t))) - exact(float(t))) for t in run.times)


def times_of(text: str, start: float = 0.0, end: float = 1.0) -> list[float]:
    return list(switching([formula(text, ("x", "y", "t"), {})], start, end).times)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("where(t < 0.3, 1, 0)", [0.3]),
        ("step(t - 0.2)", [0.2]),
        ("x*abs(t - 0.5)", [0.5]),
        ("max(t, 0.25)", [0.25]),
        ("where(0.1 < t <= 0.4 and x > 0, 1, 0)", [0.1, 0.4]),
        ("sign(sin(4*pi*t - 1))", [(1 / np.pi + k) / 4 for k in range(4)]),
        ("where(abs(t - 0.51234) < 1e-6, 1, 0)", [0.512339, 0.51234, 0.512341]),
        ("where((t - 0.51234)^2 < 1e-12, 1, 0)", [0.512339, 0.512341]),
        ("where(abs(t) < 1e-6, 1, 0)", [0.0, 1e-6]),
        ("where(x < t, 1, 0)", []),
        ("sin(40*t)", []),
        ("abs(2 + t)", []),
    ],
)
def test_moments(text: str, expected: list[float]) -> None:
    """Those of formulas of time alone, to rounding. Fronts that move through space have none."""
    assert times_of(text) == pytest.approx(expected, abs=1e-11)


def test_a_moment_is_found_to_rounding_late_in_time() -> None:
    assert times_of("where(t < 1000.3, 1, 0)", 1000, 1001) == pytest.approx([1000.3], abs=1e-12)


def test_stretches_leave_gaps_and_end_where_the_interval_does() -> None:
    cuts = Switching((0.25, 0.5), 1e-3)
    assert cuts.stretches(0.0, 1.0) == [(0.0, 0.249), (0.251, 0.499), (0.501, 1.0)]
    assert cuts.stretches(0.25, 0.5) == [(0.251, 0.499)]
    assert cuts.stretches(0.6, 1.0) == [(0.6, 1.0)]


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("time", [{}, FIXED, {"step": 0.07, "integrator": "imex-bdf"}], ids=["auto", "fixed", "bdf"])
def test_a_source_that_is_switched_off(basis: str, time: dict) -> None:
    """Exact to rounding: u grows linearly, then rests. The switch is a saved time."""
    run = gleg.solve(interval(basis, PULSE, **time))
    assert error(run, lambda t: 1 + min(t, 0.3)) < 1e-11


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize(
    ("value", "exact"),
    [
        ("where(t <= 0, 1000, 1)", lambda t: 1 + t),
        ("where(t < 1, 1, 1000)", lambda t: 1 + t),
        ("where(abs(t - 0.51234) < 1e-6, 1e6, 0)", lambda t: 1 + 2 * (t > 0.51234)),
    ],
    ids=["at the start", "at the end", "short pulse"],
)
def test_where_switches_may_be(basis: str, value: str, exact: Callable[[float], float]) -> None:
    for time in ({}, FIXED):
        assert error(gleg.solve(interval(basis, {"block": "source", "value": value}, **time)), exact) < 1e-5


@pytest.mark.parametrize("basis", BASES)
def test_many_switches(basis: str) -> None:
    """A square wave of thirteen half periods: its integral is a triangle wave. A handful of steps between two switches."""
    run = gleg.solve(interval(basis, {"block": "source", "value": "sign(sin(40*t))"}))
    assert error(run, lambda t: 1 + np.arccos(np.cos(40 * t)) / 40) < 1e-11
    assert run.trajectory.steps < 150


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("value", ["where(t < 0.3, 2, -1)", "3*abs(t - 0.55)"], ids=["jump", "kink"])
def test_the_order_is_kept(basis: str, value: str) -> None:
    """u' = c(t) u − u² with a method of order four: sixteen times less at half the step, though no step ends at the switch by itself."""
    c = formula(value, ("t",), {})
    stretch = 0.3 if "where" in value else 0.55
    state = 1.0
    for a, b in ((0.0, stretch - 1e-13), (stretch + 1e-13, 1.0)):
        state = solve_ivp(
            lambda t, u: float(c(t=t)) * u - u**2, (a, b), [state], method="DOP853", rtol=1e-12, atol=1e-14
        ).y[0, -1]
    terms = {"block": "power", "coefficient": value}, {"block": "power", "p": 2, "coefficient": -1}

    def left(n: int) -> float:
        spec = interval(basis, *terms, step=1 / n, integrator="imex-ark4")
        return abs(float(gleg.solve({**spec, "output": {"frames": 1}}).u(0.3, 1.0)) - state)

    coarse, fine = left(7), left(14)
    assert fine < 1e-5 and np.log2(coarse / fine) > 3.5


def heated(t: float, x: float) -> float:
    """u_t = u_xx, u = 0 before, u = 1 at both ends from t = 0 on."""
    n = 2 * np.arange(200) + 1
    return (
        float(1 - (4 / (n * np.pi) * np.exp(-((n * np.pi) ** 2) * t) * np.sin(n * np.pi * x)).sum()) if t > 0 else 0.0
    )


@pytest.mark.filterwarnings("ignore:problem. the solution is not resolved")
@pytest.mark.parametrize("integrator", ["imex-ark4", "exponential-adaptive"])
def test_boundary_values_that_jump(integrator: str) -> None:
    """1, then 2 from t = 0.3 on, then 0 from t = 0.5 on: what is inside does not jump. The series of the heat equation is the truth."""
    boundary = [{"kind": "dirichlet", "value": "1 + step(t - 0.3) - 2*step(t - 0.5)"}]
    spec = interval("elements", boundary=boundary, integrator=integrator, tolerance=1e-8)
    spec["output"]["frames"] = 20

    def exact(t: float) -> float:
        return 1 + heated(t - 0.3, 0.3) - 2 * heated(t - 0.5, 0.3)

    run = gleg.solve(spec)
    away = [t for t in run.times.tolist() if min(abs(t - 0.3), abs(t - 0.5)) > 1e-9]
    assert max(abs(float(run.u(0.3, t)) - exact(t)) for t in away) < 1e-6
    assert run.trajectory.steps < 1500


def flowing(t: float, x: float) -> float:
    """u_t = u_xx, u = 0 before, flux 1 into both ends from t = 0 on."""
    k = 2 * np.pi * np.arange(1, 200)
    return float(2 * t + x**2 - x + 1 / 6 - (4 / k**2 * np.exp(-(k**2) * t) * np.cos(k * x)).sum()) if t > 0 else 0.0


def test_boundary_fluxes_that_jump() -> None:
    boundary = [{"kind": "neumann", "value": "where(t < 0.3, 1, 0)"}]
    run = gleg.solve(interval("elements", boundary=boundary, tolerance=1e-8))
    assert error(run, lambda t: 1 + flowing(t, 0.3) - flowing(t - 0.3, 0.3)) < 1e-5


@pytest.mark.parametrize("basis", BASES)
def test_a_steady_field_whose_data_jump(basis: str) -> None:
    """0 = p_xx with p = 1, then 3 on the boundary; u_t = p."""
    spec = interval(basis, {"block": "product", "powers": {"p": 1}}, initial=0)
    p = {"steady": True, "boundary": [{"kind": "dirichlet", "value": "where(t < 0.3, 1, 3)"}],
         "equation": [{"block": "diffusion"}]}  # fmt: skip
    spec["fields"] = {"p": p, **spec["fields"]}
    assert error(gleg.solve(spec), lambda t: min(t, 0.3) + 3 * max(0, t - 0.3)) < 1e-10


@pytest.mark.parametrize("basis", BASES)
def test_a_manufactured_solution_with_a_kink_in_time(basis: str) -> None:
    spec = interval(basis, boundary=[{"kind": "dirichlet", "data": "exact"}], step=0.05, integrator="imex-ark4")
    spec["basis"] = {"kind": "fourier", "K": 14} if basis == "fourier" else BASES[basis]
    del spec["fields"]["u"]["initial"]
    spec["fields"]["u"] |= {"exact": "(1 + abs(t - 0.52))*cos(x)", "forcing": "manufactured"}
    assert gleg.solve(spec).metrics["relative_l2"]["max"] < 2e-5


def grown(t: float, c: float) -> float:
    """u′ = c u + [t < 0.3], u(0) = 1."""
    on = min(t, 0.3)
    return float(((1 + 1 / c) * np.exp(c * on) - 1 / c) * np.exp(c * (t - on)))


def growing(basis: str) -> dict[str, Any]:
    return {**interval(basis, {"block": "power", "coefficient": "c"}, PULSE, **FIXED), "constants": {"c": 1}}


@pytest.mark.parametrize("basis", BASES)
def test_an_ensemble(basis: str) -> None:
    rates = (1.0, -2.0, 0.5)
    runs = gleg.ensemble(growing(basis), [{"constants": {"c": c}} for c in rates])
    for c, run in zip(rates, runs, strict=True):
        assert error(run, lambda t, c=c: grown(t, c)) < 1e-8


@pytest.mark.parametrize("basis", BASES)
def test_gradients_of_a_solution_map(basis: str) -> None:
    """∂u(1)/∂c against the closed form's, and in a factor on boundary data that jump against a difference."""
    flow = gleg.SolutionMap(growing(basis))
    c = torch.tensor([torch.nan, 1.0, torch.nan], dtype=torch.float64, requires_grad=True)
    value = flow.values("u", flow(coefficients=c)[-1], np.array([[0.3]]), 1.0)
    (gradient,) = torch.autograd.grad(value.sum(), c)
    assert float(value.detach()) == pytest.approx(grown(1.0, 1.0), rel=1e-8)
    assert float(gradient[1]) == pytest.approx((grown(1.0, 1 + 1e-5) - grown(1.0, 1 - 1e-5)) / 2e-5, rel=1e-6)

    spec = interval(basis, boundary=[{"kind": "dirichlet", "value": "1 + step(t - 0.3)"}], **FIXED)
    flow = gleg.SolutionMap({**spec, "time": {**spec["time"], "end": 0.4}})

    def middle(scale: torch.Tensor) -> torch.Tensor:
        return flow.values("u", flow(data=scale)[-1], np.array([[0.3]]), 0.4, data=scale).sum()

    scale = torch.ones(1, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(middle(scale), scale)
    more, less = torch.tensor([[1.001], [0.999]], dtype=torch.float64)
    difference = float(middle(more) - middle(less)) / 0.002
    assert float(gradient) == pytest.approx(difference, rel=1e-8)


def test_a_run_goes_on_from_a_switch(tmp_path: Path) -> None:
    """Saved exactly where the source is switched off, and taken up from there."""
    spec = interval("fourier", PULSE, **FIXED)
    first = gleg.solve({**spec, "time": {**spec["time"], "end": 0.3}})
    first.save(tmp_path / "first")
    field = {key: value for key, value in spec["fields"]["u"].items() if key != "initial"}
    rest = {**spec, "fields": {"u": field}, "restart": {"file": str(tmp_path / "first" / "result.nc")}}
    run = gleg.solve({**rest, "time": {**spec["time"], "start": 0.3}})
    assert error(run, lambda t: 1.3) < 1e-11


@pytest.mark.parametrize(("integrator", "tolerance", "end"), [("midpoint", 1e-7, 1), ("imex-ark4", 1e-11, 5)])
def test_steps_that_still_grow_are_not_refused(integrator: str, tolerance: float, end: float) -> None:
    """A layer at the start: after two hundred steps they are so short that millions of them would remain."""
    boundary = [{"kind": "dirichlet", "value": 1}]
    spec = interval("elements", initial=0, boundary=boundary, integrator=integrator, tolerance=tolerance, end=end)
    run = gleg.solve(spec)
    assert run.trajectory.steps < 2500
    assert abs(float(run.u(0.3, run.times[1])) - heated(float(run.times[1]), 0.3)) < 1e-5


def test_steps_that_never_reach_the_end_are_refused() -> None:
    spec = interval("fourier", {"block": "source", "value": "sin(1e6*t)*1e6"}, integrator="etdrk2", tolerance=1e-9)
    with pytest.warns(UserWarning, match="order 2"), pytest.raises(NumericsError, match="are the longest that keep"):
        gleg.solve(spec)
