"""Plans of experiments against Fisher information in closed form, and their answers against plans made with them."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pytest
from scipy.spatial import cKDTree

from gleg_core.errors import SpecError
from gleg_core.spec.problem import load_problem
from gleg_discovery.plan import ExperimentPlan, evenly_spread_points, plan

INTERVAL = {"kind": "interval", "left": 0.0, "right": 1.0}


def planned(
    candidates: list[dict[str, Any]],
    experiment: dict[str, Any] | None,
    noise: float = 1e-3,
    target: float | None = None,
    **keys: Any,
) -> ExperimentPlan:
    """On an interval with u = 0 at both ends unless ``keys`` say otherwise."""
    field = {"boundary": [keys.pop("boundary", {"kind": "dirichlet"})], "candidates": candidates}
    if "initial" in keys:
        field["initial"] = keys.pop("initial")
    spec = {
        "domain": INTERVAL,
        "basis": {"kind": "fourier", "K": 12},
        "fields": {"u": field},
        "time": {"end": 1},
        **keys,
    }
    return plan(load_problem(spec if experiment is None else {**spec, "plan": experiment}), noise, target)


# --- one decaying mode: y = a e^{−λct} φ(x_s), λ = π² -----------------------------------------------------------------------------------

C = 0.4
DIFFUSION = {"block": "diffusion", "label": "Δu", "guess": C}
ONE_MODE: dict[str, Any] = {"initial": "sin(pi*x)", "space": {"rank": 1}}


def mode_error(noise: float, sensors: int, window: float, samples: int) -> float:
    """Standard error of c, the amplitude a unknown. With S_j = Σ t^j e^{−2λct} and σ² = noise² Φ² a² S_0/(N T), Φ² = Σ_s φ(x_s)²:

    F = Φ² a² λ² (S_2 − S_1²/S_0)/σ², whatever a and the places are.
    """
    t = np.linspace(0, window, samples)
    S = [float((t**j * np.exp(-2 * np.pi**2 * C * t)).sum()) for j in range(3)]
    return float(noise * np.sqrt(S[0] / (sensors * samples)) / np.pi**2 / np.sqrt(S[2] - S[1] ** 2 / S[0]))


@pytest.mark.parametrize(("window", "sensors"), [(0.05, 12), (0.5, 12), (0.5, 90)])
def test_standard_error_of_the_rate_of_a_mode(window: float, sensors: int) -> None:
    found = planned([DIFFUSION], {"window": window, "sensors": sensors, "samples": 21, "recordings": 1}, **ONE_MODE)
    (row,) = found.rows
    assert (row.field, row.label, row.guess) == ("u", "Δu", C)
    assert row.error == pytest.approx(mode_error(1e-3, sensors, window, 21), rel=2e-3)
    assert row.relative == pytest.approx(row.error / C)
    assert found.rank == {"u": 1} and found.alternatives == ()


def test_a_window_beyond_the_decay_of_the_mode_tells_nothing_more() -> None:
    """The least window, at a fixed interval, is where the closed form says; a target below its floor is not reached."""
    now = {"window": 0.05, "sensors": 12, "samples": 21, "recordings": 1}
    found = planned([DIFFUSION], now, noise=0.02, target=0.02, **ONE_MODE)
    ways = {a.what: a for a in found.alternatives}
    rms = [np.sqrt(np.mean(np.exp(-2 * np.pi**2 * C * np.linspace(0, 0.05 * w, 20 * w + 1)))) for w in (1, 64)]

    def relative(window: float) -> float:  # the noise stays that of the short window
        samples = round(window / 0.0025) + 1
        own = np.sqrt(np.mean(np.exp(-2 * np.pi**2 * C * np.linspace(0, window, samples))))
        return mode_error(0.02, 12, window, samples) * rms[0] / own / C

    assert ways["window"].reached and relative(ways["window"].value) == pytest.approx(ways["window"].worst, rel=0.01)
    assert 0.9 * 0.02 < ways["window"].worst <= 1.02 * 0.02
    floor = relative(0.05 * 64)
    far = planned([DIFFUSION], now, noise=0.02, target=0.9 * floor, **ONE_MODE).alternatives
    window = next(a for a in far if a.what == "window")
    assert (
        not window.reached
        and window.value == pytest.approx(0.05 * 64)
        and window.worst == pytest.approx(floor, rel=0.01)
    )


# --- u' = a u + b u³, constant in space: u = u_0 e^{at}/√(1 − b u_0² (e^{2at} − 1)/a) ----------------------------------------------------


def test_standard_errors_of_a_law_that_is_not_linear() -> None:
    """Sensitivities of the closed form by central differences; the window is several times that of the growth."""
    theta, noise, sensors = np.array([1.0, -1.0, 0.1, 0.6]), 0.01, 4
    t = np.linspace(0, 5, 41)

    def model(theta: np.ndarray) -> np.ndarray:
        a, b, *starts = theta
        return np.concatenate([s * np.exp(a * t) / np.sqrt(1 - b / a * s**2 * np.expm1(2 * a * t)) for s in starts])

    J = np.array([(model(theta + e) - model(theta - e)) / 2e-6 for e in 1e-6 * np.eye(4)])
    sigma = noise * np.sqrt(np.mean(model(theta) ** 2))
    expected = sigma * np.sqrt(np.diag(np.linalg.inv(sensors * J @ J.T)))[:2]
    powers = [{"block": "power", "p": p, "label": f"u{p}", "guess": g} for p, g in ((1, 1.0), (3, -1.0))]
    experiment = {"window": 5, "sensors": sensors, "samples": 41, "recordings": 2, "amplitudes": [0.1, 0.6]}
    found = planned(powers, experiment, noise, boundary={"kind": "neumann"}, space={"rank": 1})
    assert [r.error for r in found.rows] == pytest.approx(expected, rel=0.01)
    assert found.rms["u"] == pytest.approx(sigma / noise, rel=1e-3)


# --- the paper's candidates on a disk --------------------------------------------------------------------------------------------------

SIX = [{"dictionary": "paper-six", "guess": {"Δu": 0.04, "u": 0.06, "u³": -0.35}}]
DISK: dict[str, Any] = {
    "domain": {"kind": "disk", "radius": 0.7},
    "basis": {"kind": "fourier", "K": 8},
    "space": {"rank": 12},
}
NOW: dict[str, Any] = {"window": 0.2, "sensors": 40, "samples": 21, "recordings": 4, "modes": 8}


@pytest.fixture(scope="module")
def answered() -> ExperimentPlan:
    return planned(SIX, NOW, noise=1e-3, target=0.06, **DISK)


def test_candidates_without_a_guess_are_in_the_regression(answered: ExperimentPlan) -> None:
    assert [r.label for r in answered.rows] == ["Δu", "−∂x(u²/2)", "−∂y(u²/2)", "u", "u²", "u³"]
    assert [r.relative is None for r in answered.rows] == [False, True, True, False, True, False]
    alone = [
        {
            "dictionary": "paper-six",
            "guess": SIX[0]["guess"],
            "known": dict.fromkeys(("−∂x(u²/2)", "−∂y(u²/2)", "u²"), 0.0),
        }
    ]
    fewer = {r.label: r.error for r in planned(alone, NOW, **DISK).rows}
    assert list(fewer) == ["Δu", "u", "u³"]
    assert all(r.error >= 0.999 * fewer[r.label] for r in answered.rows if r.label in fewer)


def test_what_reaches_the_target_reaches_it(answered: ExperimentPlan) -> None:
    assert [r.label for r in answered.misses] == ["u³"]
    ways = {a.what: a for a in answered.alternatives}
    assert set(ways) == {"window", "sensors", "recordings"} and all(a.reached for a in ways.values())
    assert all(a.worst <= 1.02 * 0.06 for a in ways.values())
    now = max(r.relative for r in answered.rows if r.relative is not None)
    assert ways["recordings"].value == np.ceil(4 * (now / 0.06) ** 2)
    sensors = planned(SIX, {**NOW, "sensors": int(ways["sensors"].value)}, **DISK)
    change = sensors.rms["u"] / answered.rms["u"]  # the noise of the answer is that of the first plan
    assert max(r.relative or 0 for r in sensors.rows) == pytest.approx(ways["sensors"].worst * change, rel=1e-6)


def test_errors_are_proportional_to_the_noise_and_fall_with_sensors() -> None:
    few, loud, many = (
        np.array([r.error for r in planned(SIX, {**NOW, "sensors": n}, noise, **DISK).rows])
        for n, noise in ((100, 1e-3), (100, 1e-2), (1600, 1e-3))
    )
    assert np.allclose(loud, 10 * few)
    assert np.allclose(many, few / 4, rtol=0.1)  # 1/√N once there are many more sensors than functions


def test_sensors_are_spread_evenly_and_inside() -> None:
    problem = load_problem(
        {**DISK, "fields": {"u": {"boundary": [{"kind": "dirichlet"}], "candidates": SIX}}, "time": {"end": 1}}
    )
    points = np.array(list(islice(evenly_spread_points(problem.build(problem.domain)), 5000)))
    assert (np.hypot(*points.T) < 0.7).all()
    spacing = np.sqrt(np.pi * 0.49 / len(points))
    nearest = cKDTree(points).query(points, k=2)[0][:, 1]
    assert nearest.min() > 0.4 * spacing  # of random points: about 0.005
    assert (points**2).mean() == pytest.approx(0.49 / 4, rel=2e-3)


# --- what cannot be planned ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("candidates", "experiment", "message"),
    [
        (SIX, None, "no section 'plan'"),
        ([{"dictionary": "paper-six"}], NOW, "no candidate has a guess"),
        (SIX, {**NOW, "sensors": 5}, "5 sensors are too few for the 12 functions of 'u'"),
    ],
)
def test_what_is_missing_is_said(candidates: list, experiment: dict | None, message: str) -> None:
    with pytest.raises(SpecError, match=message) as caught:
        planned(candidates, experiment, **DISK)
    if experiment is None or "guess" in message:
        assert "guess: {Δu: 0.04" in str(caught.value) and "plan: {window:" in str(caught.value)


def test_noise_is_a_positive_share() -> None:
    with pytest.raises(SpecError, match="noise must be a positive number"):
        planned(SIX, NOW, noise=0.0, **DISK)
