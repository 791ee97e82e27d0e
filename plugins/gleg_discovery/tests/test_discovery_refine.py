"""Refinement by maximum likelihood against closed forms: where smoothing biases the estimator, where data go on for longer than a
smooth path can follow, with moving boundary data, gaps, and two fields."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

from gleg_core.spec.problem import load_problem
from gleg_core.system.discrete_field import DiscreteField
from gleg_core.system.spaces import build_spaces
from gleg_discovery.discover import labelled
from gleg_discovery.dynamics import Dynamics, Windows, hermite, roll
from gleg_discovery.identify import Identification, Options, identify
from gleg_discovery.observations import Recording
from gleg_discovery.refine import Likelihood, Refinement, refine
from gleg_discovery.regression import fit_coefficients
from gleg_discovery.responses import LabelledTerm, prepared, respond
from gleg_discovery.series import observe
from gleg_discovery.smooth_space import smoothest_first

INTERVAL = {"kind": "interval", "left": 0.0, "right": 1.0}
PLACES = (np.arange(5) + 0.5)[:, None] / 5

Setting = tuple[dict[str, DiscreteField], dict[str, list[LabelledTerm]]]


def setting(
    candidates: dict[str, list[dict[str, Any]]], boundary: dict[str, Any], K: int, rank: int, **domain: Any
) -> Setting:
    problem = load_problem(
        {
            "domain": domain or INTERVAL,
            "basis": {"kind": "fourier", "K": K},
            "fields": {n: {"boundary": [boundary], "candidates": own} for n, own in candidates.items()},
            "time": {"end": 1},
        }
    )
    _, terms, _ = labelled(problem)
    spaces = build_spaces(problem, [t for own in terms.values() for c in own for t in c.terms])
    return {f.name: smoothest_first(f, rank) for f in spaces.fields}, terms


def power(p: int, label: str, of: str = "u") -> dict[str, Any]:
    return {"block": "polynomial:power", "p": p, "of": of, "label": label}


def first_part(recordings: list[Recording], end: float) -> list[Recording]:
    n = int((recordings[0].times <= end).sum())
    return [Recording(k.name, k.times[:n], k.points, {f: v[:n] for f, v in k.values.items()}) for k in recordings]


def both(
    recordings: list[Recording], where: Setting, sigma: float, end: float = np.inf
) -> tuple[Identification, Refinement]:
    """The law found on readings until ``end``, and refined on all of them."""
    fields, candidates = where
    found = identify(first_part(recordings, end), fields, candidates, options=Options(noise=sigma))
    return found, refine(recordings, found, candidates)


# --- logistic growth u' = u − u², a state that is constant in space -------------------------------------------------------------------


def logistic(t: np.ndarray, start: float, a: float = 1.0, b: float = -1.0) -> np.ndarray:
    grown = np.exp(a * t)
    return a * start * grown / (a - b * start * (grown - 1))


STARTS = np.resize([0.1, 0.2, 0.4], 24)
LONG = np.linspace(0, 16, 33)


def growth(sigma: float, seed: int) -> list[Recording]:
    random = np.random.default_rng(seed)
    noise = sigma * random.standard_normal((len(STARTS), len(LONG), len(PLACES)))
    return [
        Recording(f"{k}", LONG, PLACES, {"u": logistic(LONG, start)[:, None] + own})
        for k, (start, own) in enumerate(zip(STARTS, noise, strict=True))
    ]


def growth_bound(sigma: float) -> np.ndarray:
    """Cramér–Rao bound of (a, b) from central differences of the closed form, initial values unknown."""
    theta = np.array([1.0, -1.0, *STARTS])

    def model(theta: np.ndarray) -> np.ndarray:
        return np.concatenate([logistic(LONG, start, *theta[:2]) for start in theta[2:]])

    columns = [(model(theta + 1e-6 * e) - model(theta - 1e-6 * e)) / 2e-6 for e in np.eye(len(theta))]
    information = len(PLACES) * np.array(columns) @ np.array(columns).T
    return sigma * np.sqrt(np.diag(np.linalg.inv(information)))[:2]


@pytest.fixture(scope="module")
def mixed() -> Setting:
    return setting({"u": [power(1, "u"), power(2, "u²")]}, {"kind": "neumann"}, K=4, rank=1)


def test_noise_that_biases_the_smoothed_estimate_does_not_bias_the_refined_one(mixed: Setting) -> None:
    found, refined = both(growth(0.2, seed=0), mixed, 0.2)
    bound = growth_bound(0.2)
    assert (np.abs(found.laws["u"].law.c - [1, -1]) > 6 * bound).all()
    assert (np.abs(refined.c - [1, -1]) < 3 * bound).all()
    assert np.allclose(refined.errors, bound, rtol=0.06)
    assert refined.converged and refined.after < refined.before
    assert refined.after == pytest.approx(1, abs=4 * np.sqrt(2 / refined.number))


def test_a_law_from_the_first_part_is_refined_on_the_whole(mixed: Setting) -> None:
    recordings = growth(0.02, seed=1)
    found, refined = both(recordings, mixed, 0.02, end=3)
    bound = growth_bound(0.02)
    assert (found.laws["u"].law.errors > 1.5 * bound).all()
    assert (np.abs(refined.c - [1, -1]) < 3 * bound).all() and np.allclose(refined.errors, bound, rtol=0.03)
    fit = refined.fit("u")
    assert fit.labels == ("u", "u²") and np.allclose(fit.errors, refined.errors)
    assert np.allclose(fit.intervals.mean(axis=1), refined.c)
    assert np.allclose(np.abs(refined.states["u"][:, 0]), STARTS, atol=0.02)  # the function is 1 or −1


# --- heat with a moving end: u = sin t (1 − x) + Σ z_n √2 sin nπx,  z_n' = −D(nπ)² z_n − cos t √2/(nπ) ---------------------------------

D, MODES = 0.3, 4
SENSORS = (np.arange(30) + 0.5)[:, None] / 30
TIMES = np.linspace(0, 0.1, 41)


def driven(a: np.ndarray) -> np.ndarray:
    """(T, S), from z_n(0) = a_n: variation of constants."""
    n = np.arange(1, len(a) + 1)
    rate = D * (n * np.pi) ** 2
    t = TIMES[:, None]
    forced = (rate * np.cos(t) + np.sin(t) - rate * np.exp(-rate * t)) / (1 + rate**2)
    z = a * np.exp(-rate * t) - np.sqrt(2) / (n * np.pi) * forced
    x = SENSORS[:, 0]
    return np.sin(t) * (1 - x) + z @ (np.sqrt(2) * np.sin(np.outer(n, np.pi * x)))


@pytest.fixture(scope="module")
def heated() -> Setting:
    left = {"kind": "dirichlet", "value": "sin(t)*(1 - x)"}
    return setting({"u": [{"block": "diffusion", "label": "Δu"}]}, left, K=16, rank=MODES)


def heated_recordings(sigma: float, seed: int, gaps: float = 0.0) -> list[Recording]:
    random = np.random.default_rng(seed)
    found = []
    for k in range(3):
        clean = driven(0.3 * random.standard_normal(MODES) / np.arange(1, MODES + 1))
        y = clean + sigma * random.standard_normal(clean.shape)
        y[random.random(y.shape) < gaps] = np.nan
        found.append(Recording(f"{k}", TIMES, SENSORS, {"u": y}))
    return found


def test_boundary_data_move_the_state(heated: Setting) -> None:
    _, refined = both(heated_recordings(1e-4, seed=0), heated, 1e-4)
    assert refined.c == pytest.approx([D], rel=1e-3)


@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_errors_are_those_of_the_bound(heated: Setting, gaps: float) -> None:
    """Over draws of the noise, with and without gaps."""
    scores = []
    for seed in range(8):
        _, refined = both(heated_recordings(0.02, seed, gaps), heated, 0.02)
        assert refined.converged and refined.after == pytest.approx(1, abs=0.2)
        scores.append((refined.c - D) / refined.errors)
    assert 0.6 < np.sqrt(np.mean(np.square(scores))) < 1.5


# --- a nonlinear law on a disk --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def disk() -> Setting:
    own = [{"block": "diffusion", "label": "Δu"}, power(1, "u"), power(2, "u²"), power(3, "u³")]
    return setting({"u": own}, {"kind": "dirichlet"}, K=8, rank=10, kind="disk", radius=0.8)


LAW = np.array([0.2, 3.0, 2.0, -8.0])


def disk_recordings(disk: Setting, gaps: float = 0.0) -> tuple[Dynamics, np.ndarray, list[Recording]]:
    """Three rollouts of LAW from the same reduced model, by scipy, without noise; the states they start from."""
    fields, candidates = disk
    dynamics, random = Dynamics(fields, candidates), np.random.default_rng(3)
    start = 0.4 * random.standard_normal((3, 10)) / np.arange(1, 11)
    angle, radius = 2 * np.pi * random.random(60), 0.75 * np.sqrt(random.random(60))
    points = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    times, found = np.linspace(0, 0.3, 61), []
    table = fields["u"].space.basis.tabulate(torch.from_numpy(points), [(0, 0)])[0, 0]
    functions = (fields["u"].space.N.T @ table).numpy()

    def rate(t: float, z: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            at = torch.full((1, 1), t, dtype=torch.float64)
            return dynamics.rate(torch.from_numpy(z)[None], at, torch.from_numpy(LAW))[0].numpy()

    for k, z in enumerate(start):
        path = solve_ivp(rate, (0, 0.3), z, method="DOP853", t_eval=times, rtol=1e-11, atol=1e-12).y.T
        y = path @ functions
        y[random.random(y.shape) < gaps] = np.nan
        found.append(Recording(f"{k}", times, points, {"u": y}))
    return dynamics, start, found


@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_the_gradient_is_that_of_the_sum_of_squares(disk: Setting, gaps: float) -> None:
    dynamics, start, recordings = disk_recordings(disk, gaps)
    likelihood = Likelihood(dynamics, recordings, {"u": 0.05})
    c, z = 0.9 * LAW, 1.1 * start
    likelihood.metric(c, z)
    _, by_c, by_z = likelihood.gradient(c, z)
    for p in range(len(c)):
        e = 1e-5 * np.eye(len(c))[p]
        slope = (likelihood.misfit(c + e, z) - likelihood.misfit(c - e, z)) / 4e-5
        assert by_c[p] == pytest.approx(slope, rel=1e-6, abs=1e-6 * np.abs(by_c).max())
    e = np.zeros_like(z)
    e[1, 2] = 1e-5
    slope = (likelihood.misfit(c, z + e) - likelihood.misfit(c, z - e)) / 4e-5
    assert by_z[1, 2] == pytest.approx(slope, rel=1e-6)


def test_stages_that_are_not_kept_give_the_same_gradient(disk: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    dynamics, start, recordings = disk_recordings(disk)
    likelihood = Likelihood(dynamics, recordings, {"u": 0.05})
    likelihood.metric(LAW, start)
    kept = likelihood.gradient(0.9 * LAW, start)
    monkeypatch.setattr("gleg_discovery.dynamics._KEPT", 0)
    for a, b in zip(kept, likelihood.gradient(0.9 * LAW, start), strict=True):
        assert np.allclose(a, b, rtol=1e-12)


def test_the_optimum_of_exact_data_is_the_law(disk: Setting) -> None:
    dynamics, start, recordings = disk_recordings(disk)
    found, refined = both(recordings, disk, 1e-4)
    assert [label for _, label in dynamics.labels] == list(found.laws["u"].law.labels)
    assert np.allclose(refined.c, LAW, rtol=1e-4)
    assert np.allclose(refined.states["u"], start, atol=1e-5)


def test_the_information_is_that_of_finite_differences(disk: Setting) -> None:
    """Covariance of c, all initial states unknown, from differences of the readings that the rollout predicts."""
    dynamics, start, recordings = disk_recordings(disk)
    expected = Likelihood(dynamics, recordings, {"u": 0.05}).metric(LAW, start).covariance
    times, (first, *_) = recordings[0].times, observe(disk[0]["u"], recordings, 1)
    windows = Windows.of([times] * len(start))
    H = hermite(times, windows.nodes(0, 24))

    def predicted(theta: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            flow = roll(
                dynamics, torch.from_numpy(theta[4:].reshape(start.shape)), torch.from_numpy(theta[:4]), windows, 24
            )
        return (
            np.concatenate([(H @ flow.stacked(k).numpy() @ first.sensors.phi.T).ravel() for k in range(len(start))])
            / 0.05
        )

    theta = np.concatenate([LAW, start.ravel()])
    J = np.array([(predicted(theta + e) - predicted(theta - e)) / 2e-4 for e in 1e-4 * np.eye(len(theta))])
    errors = np.sqrt(np.diag(expected))
    assert np.allclose(
        np.linalg.inv(J @ J.T)[:4, :4] / np.outer(errors, errors), expected / np.outer(errors, errors), atol=0.005
    )


def test_where_the_law_is_nearly_linear_the_information_is_that_of_the_regression(disk: Setting) -> None:
    """Two derivations of one bound: the integral form, and sensitivities of the rollout."""
    fields, candidates = disk
    dynamics, start, recordings = disk_recordings(disk)
    short = first_part(recordings, 0.02)
    found = identify(short, fields, candidates, options=Options(noise=0.01))
    regression = fit_coefficients(found.laws["u"].information).errors
    rollout = np.sqrt(np.diag(Likelihood(dynamics, short, {"u": 0.01}).metric(LAW, start).covariance))
    assert np.allclose(rollout, regression, rtol=0.02)


def test_prepared_responses_are_those_computed_at_once(disk: Setting) -> None:
    fields, candidates = disk
    groups = {c.label: c.terms for c in candidates["u"]}
    z, t = {"u": torch.randn(4, 10, dtype=torch.float64)}, torch.zeros(4, 1, dtype=torch.float64)
    kept = prepared(fields, groups)
    for again in (z, {"u": 2 * z["u"]}):
        once = respond(prepared(fields, groups), again, t)
        for label, q in respond(kept, again, t).items():
            assert torch.equal(q, once[label])


# --- two fields: u' = u − uv,  v' = uv − v, over several periods ----------------------------------------------------------------------


def test_two_fields_that_turn_around_each_other() -> None:
    product = {"block": "polynomial:product", "powers": {"u": 1, "v": 1}, "label": "uv"}
    where = setting(
        {"u": [power(1, "u"), product], "v": [power(1, "v", "v"), product]}, {"kind": "neumann"}, K=4, rank=1
    )
    random, times, recordings = np.random.default_rng(5), np.linspace(0, 12, 121), []
    for k, start in enumerate(([0.6, 1.2], [1.5, 0.7])):
        path = solve_ivp(
            lambda t, s: [s[0] - s[0] * s[1], s[0] * s[1] - s[1]], (0, 12), start, t_eval=times, rtol=1e-10
        ).y
        values = {n: path[i][:, None] + 0.05 * random.standard_normal((121, 5)) for i, n in enumerate("uv")}
        recordings.append(Recording(f"{k}", times, PLACES, values))
    found, refined = both(recordings, where, 0.05, end=3)
    assert refined.labels == (("u", "u"), ("u", "uv"), ("v", "v"), ("v", "uv"))
    assert (np.abs(refined.c - [1, -1, -1, 1]) < 3.5 * refined.errors).all()
    first = np.concatenate([found.laws[n].law.errors for n in "uv"])
    assert (refined.errors < 0.6 * first).all()
    assert refined.fit("v").labels == ("v", "uv")
