"""What runs say of their own error, against closed forms: right ones are quiet, wrong ones name the cause."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

import gleg
from gleg_core.errors import NumericsError
from gleg_core.estimate import Estimate, Part
from gleg_core.run import Run
from gleg_results.stored import estimate_from

DIRICHLET = {"kind": "dirichlet"}


def problem(
    domain: dict[str, Any], u: dict[str, Any], end: float = 1.0, time: dict[str, Any] | None = None, **keys: Any
) -> dict[str, Any]:
    field = {"boundary": [DIRICHLET], "equation": [{"block": "diffusion", "twin": "analytic"}], **u}
    return {
        "domain": domain,
        "fields": {"u": field},
        "time": {"end": end, **(time or {})},
        "output": {"frames": 8},
        **keys,
    }


def solved(spec: dict[str, Any]) -> tuple[Run, list[str]]:
    """The run, and what it warned of being unresolved."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = gleg.solve(spec)
    return run, [str(w.message) for w in caught if "not resolved" in str(w.message)]


def error(run: Run, exact: Any) -> float:
    """max_t ‖u − exact‖ / max_t ‖exact‖ after the start, at random points of Ω."""
    domain, random = run.discretisation.domain, np.random.default_rng(1)
    points = random.uniform(*np.asarray(domain.bounds).T, (4000, domain.dim))
    points = points[domain.contains(points)]
    pairs = [(run.evaluate("u", points, t), exact(*points.T, t)) for t in run.times[1:].tolist()]
    first = exact(*points.T, float(run.times[0]))
    size = max(np.linalg.norm(v) for v in (first, *(v for _, v in pairs)))
    return float(max(np.linalg.norm(u - v) for u, v in pairs) / size)


INTERVAL = {"kind": "interval", "left": 0, "right": math.pi}


def decaying(k: int) -> dict[str, Any]:
    return problem(INTERVAL, {"initial": f"sin({k}*x)"}, 1.0 / k**2, basis={"kind": "fourier", "K": 10})


@pytest.mark.parametrize("k", [1, 8, 14, 18, 22, 40])
def test_short_waves(k: int) -> None:
    """sin(kx) is resolved for small k, and for large ones it is not."""
    run, told = solved(decaying(k))
    true = error(run, lambda x, t: np.exp(-(k**2) * t) * np.sin(k * x))
    assert bool(told) == (true > 5e-2) or 1e-3 < true < 5e-2
    if told:
        assert "the initial state of u" in told[0] or "the solution u" in told[0]


def test_a_moving_front() -> None:
    """Burgers' front of width 0.02 is lost on 8 wave numbers, in space and nowhere else."""
    nu = 0.005
    front = f"0.5 - 0.5*tanh((x - 0.5*t)/{4 * nu})"
    u = {
        "initial": front,
        "boundary": [{"kind": "dirichlet", "value": front}],
        "equation": [
            {"block": "diffusion", "coefficient": nu, "twin": "analytic"},
            {"block": "transport", "direction": "x", "coefficient": -1, "twin": "analytic"},
        ],
    }
    spec = problem({"kind": "interval", "left": -1, "right": 1}, u, 0.5, basis={"kind": "fourier", "K": 16})
    run, told = solved(spec)
    true = error(run, lambda x, t: 0.5 - 0.5 * np.tanh((x - 0.5 * t) / (4 * nu)))
    assert run.estimate is not None and true / 3 < float(run.estimate) < 30 * true
    assert bool(told) or true < 5e-2
    worst = run.estimate.worst("space")
    assert worst is not None and worst.moment is not None and abs(worst.place[0] - 0.5 * worst.moment) < 0.3
    assert worst.map is not None and worst.map.points.shape == (len(worst.map.density), 1)
    assert worst.map.history.max() == worst.error and worst.moment in worst.map.times


def test_a_kink_of_boundary_data_on_global_functions() -> None:
    """|x| on the rim of a disk: global functions that meet the samples are wrong between them."""
    u = {"initial": 0, "boundary": [{"kind": "dirichlet", "value": "abs(x)"}]}
    run, told = solved(problem({"kind": "disk", "radius": 1}, u, 0.5, basis={"kind": "fourier", "K": 14}))
    assert run.estimate is not None and float(run.estimate) > 5e-2
    assert any("segment boundary" in text for text in told) or any("the solution u" in text for text in told)


def pulsed(width: float, frames: int, **time: Any) -> tuple[dict[str, Any], float]:
    """u' = pulse(t), and u(1)."""
    pulse = f"gauss((t - 0.437)/{width})"
    u = {"initial": 0, "boundary": [{"kind": "neumann"}], "equation": [{"block": "source", "value": pulse}]}
    spec = problem(INTERVAL, u, 1.0, time, basis={"kind": "fourier", "K": 6}) | {"output": {"frames": frames}}
    return spec, width * math.sqrt(math.pi)


@pytest.mark.parametrize(("width", "frames"), [(0.003, 4), (0.001, 2), (1e-4, 10)])
def test_a_pulse_between_steps(width: float, frames: int) -> None:
    """Steps that never saw it are taken again, and stop around it."""
    spec, exact = pulsed(width, frames)
    run, told = solved(spec)
    assert float(run.u(1.0, 1.0)) == pytest.approx(exact, rel=1e-5) and not told


def test_a_pulse_between_steps_of_a_stated_length() -> None:
    """They stay as they are, and say what they missed and how they would see it: that line, copied, does."""
    spec, exact = pulsed(1e-4, 10, step=0.05)
    run, told = solved(spec)
    assert abs(float(run.u(1.0, 1.0)) / exact - 1) > 0.5
    (line,) = [text for text in told if "gauss" in text]
    stops = [float(word) for word in line.partition("stops: [")[2].partition("]")[0].split(",")]
    assert abs(np.mean(stops) - 0.437) < 1e-4
    again, quiet = solved(pulsed(1e-4, 10, stops=stops)[0])
    assert float(again.u(1.0, 1.0)) == pytest.approx(exact, rel=1e-5) and not quiet


def test_parts_and_totals() -> None:
    parts = (
        Part("space", 3e-3, "a"),
        Part("space", 1e-3, "b"),
        Part("time", 4e-3, "c"),
        Part("start", 0.1, "d", allowed=0.03),
    )
    estimate = Estimate(parts)
    assert float(estimate) == pytest.approx(5e-3)
    assert [p.about for p in estimate.unresolved] == ["d"]
    assert str(estimate) == "0.005 (space 0.003, time 0.004; at the start 0.1)"
    assert estimate_from(estimate.as_data()).as_data() == pytest.approx(estimate.as_data())  # type: ignore[union-attr]


def test_fail_and_ignore() -> None:
    """`unresolved: fail` gives the run with the error; `ignore` looks at nothing."""
    with pytest.raises(NumericsError, match=r"not resolved: the initial state of u leaves about") as caught:
        gleg.solve(decaying(40), unresolved="fail")
    assert isinstance(caught.value.run, Run) and caught.value.run.estimate is not None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gleg.solve(decaying(40), unresolved="ignore").estimate is None


@pytest.mark.parametrize("step", [0.02, 0.05])
def test_fixed_steps(step: float) -> None:
    """Heat with a source sin(20t), by Crank–Nicolson: the sum of local errors is near the true one, or above."""
    u = {
        "initial": 0,
        "equation": [{"block": "diffusion", "twin": "analytic"}, {"block": "source", "value": "sin(20*t)*sin(x)"}],
    }
    spec = problem(INTERVAL, u, 2.0, {"step": step, "integrator": "crank-nicolson"}, basis={"kind": "fourier", "K": 8})
    run, told = solved(spec)
    true = error(run, lambda x, t: (20 * np.exp(-t) + np.sin(20 * t) - 20 * np.cos(20 * t)) / 401 * np.sin(x))
    assert run.estimate is not None
    part = run.estimate.worst("time")
    assert part is not None and true / 3 < part.error < 30 * true
    assert bool(told) or true < 5e-2
