"""Baselines of law discovery against closed forms: waves and modes of the heat equation with decay,  u_t = c Δu + b u."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import jn_zeros, jv

from gleg_core.contracts.domain import Domain
from gleg_core.spec.problem import load_problem
from gleg_core.system.discrete_field import DiscreteField
from gleg_core.system.discretise import realised_terms
from gleg_core.system.spaces import build_spaces
from gleg_discovery.baselines import METHODS, Baseline, compare, without_gaps
from gleg_discovery.finite_differences import Grid, interpolation
from gleg_discovery.identify import Options, identify
from gleg_discovery.observations import Recording
from gleg_discovery.responses import LabelledTerm
from gleg_discovery.snapshots import roughness

AMBIENT, DIFFERENCES, DERIVATIVE, RIDGE = METHODS
DIFFUSION, POWER = {"block": "diffusion:diffusion"}, {"block": "polynomial:power"}
LAW = {"Δu": 0.05, "u": -0.3}
RADIUS = 0.6
Function = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""u at times (T, 1) and points (S, dim): (T, S)."""


@dataclass(frozen=True)
class Setting:
    domain: Domain
    fields: dict[str, DiscreteField]
    candidates: dict[str, list[LabelledTerm]]

    def compare(self, recordings: Sequence[Recording]) -> dict[str, Baseline]:
        return {b.name: b for b in compare(recordings, self.domain, self.fields, self.candidates)}


def setting(
    domain: dict, K: int, rank: int, candidates: Mapping[str, Mapping[str, dict]], value: Any = 0, **space: Any
) -> Setting:
    """``candidates``: field → label → term."""
    boundary = [{"kind": "dirichlet", "value": value}]
    fields = {f: {"initial": 0, "boundary": boundary, "equation": list(own.values())} for f, own in candidates.items()}
    problem = load_problem(
        {"domain": domain, "basis": {"kind": "fourier", "K": K}, "space": {"rank": rank, **space}, "fields": fields, "time": {"end": 1}}
    )  # fmt: skip
    dim = problem.scope.dim
    terms = {f.name: [tuple(realised_terms(problem, f, t, dim)) for t in f.terms] for f in problem.fields}
    spaces = build_spaces(problem, [t for own in terms.values() for some in own for t in some])
    labelled = {f: [LabelledTerm(*pair) for pair in zip(candidates[f], own, strict=True)] for f, own in terms.items()}
    return Setting(spaces.domain, {f.name: f for f in spaces.fields}, labelled)


def recorded(u: Function, points: np.ndarray, times: np.ndarray, name: str = "one") -> Recording:
    return Recording(name, times, points, {"u": u(times[:, None], points)})


def error(found: Mapping[str, float], law: Mapping[str, float] = LAW) -> float:
    """The largest relative error; infinite if a coefficient was not found."""
    return max(abs(found.get(label, np.inf) / c - 1) for label, c in law.items())


def lattice(domain: Domain, h: float) -> np.ndarray:
    axes = [np.arange(np.ceil(low / h), np.floor(high / h) + 1) * h for low, high in domain.bounds]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, domain.dim)
    return points[domain.contains(points)]


# --- an interval with moving boundary data: two waves of the box, which all methods can represent -----------------------------

WAVES = (3 * np.pi / 0.9, 4 * np.pi / 0.9)


def waves(t: np.ndarray, x: np.ndarray) -> np.ndarray:
    first, second = (np.exp((LAW["u"] - LAW["Δu"] * k**2) * t) for k in WAVES)
    return first * np.cos(WAVES[0] * (x[:, 0] - 0.5)) + second * np.sin(WAVES[1] * (x[:, 0] - 0.5))


def with_waves_at_the_ends(**space: Any) -> Setting:
    rates = [LAW["u"] - LAW["Δu"] * k**2 for k in WAVES]
    value = f"exp({rates[0]}*t)*cos({WAVES[0]}*(x - 0.5)) + exp({rates[1]}*t)*sin({WAVES[1]}*(x - 0.5))"
    terms = {"u": {"Δu": DIFFUSION, "u": POWER}}
    return setting({"kind": "interval", "left": 0, "right": 1}, 14, 20, terms, value, box=[-0.4, 1.4], **space)


@pytest.fixture(scope="module")
def interval() -> Setting:
    return with_waves_at_the_ends()


@pytest.mark.parametrize(
    ("method", "order", "finest"), [(AMBIENT, 4, 1e-5), (DERIVATIVE, 2, 5e-2), (DIFFERENCES, 2, 5e-2)]
)
def test_methods_converge_with_their_order_in_time_and_space(
    interval: Setting, method: str, order: int, finest: float
) -> None:
    """Simpson's rule has order 4, centred differences have 2; boundary data move."""
    errors = []
    for n in (40, 80):
        points = np.linspace(0, 1, 2 * n + 1)[1:-1, None]
        found = interval.compare([recorded(waves, points, np.linspace(0, 0.6, n + 1))])[method]
        errors.append(error(found.coefficients))
    assert errors[0] / errors[1] == pytest.approx(2**order, rel=0.2)
    assert errors[1] < finest


def test_ridge_on_triples(interval: Setting) -> None:
    points, times = np.linspace(0, 1, 401)[1:-1, None], np.linspace(0, 0.6, 161)
    found = interval.compare([recorded(waves, points, times)])[RIDGE]
    assert error(found.coefficients) < 1e-5


def test_the_choice_of_the_lift_does_not_matter(interval: Setting) -> None:
    """With another lift z differs and moves with the data, but the functions u that are fitted are the same."""
    recordings = [recorded(waves, np.linspace(0, 1, 81)[:, None], np.linspace(0, 0.6, 81))]
    found, other = (s.compare(recordings)[DERIVATIVE] for s in (interval, with_waves_at_the_ends(lift="minimum-norm")))
    assert other.coefficients == pytest.approx(found.coefficients, rel=1e-6)


def test_the_penalty_weights_functions_by_their_roughness(interval: Setting) -> None:
    """The space has its smoothest functions first, so the penalty is diagonal there, and turns with the coordinates."""
    field = interval.fields["u"]
    expected = 1e-8 * np.diag(np.arange(1.0, field.r + 1) ** 4)
    np.testing.assert_allclose(roughness(field, 1e-8), expected, atol=1e-9)
    Q = torch.linalg.qr(torch.randn(field.r, field.r, dtype=torch.float64, generator=torch.manual_seed(1)))[0]
    np.testing.assert_allclose(roughness(field.rotated(Q), 1e-8), Q.T.numpy() @ expected @ Q.numpy(), atol=1e-9)


def test_uneven_times_keep_the_order(interval: Setting) -> None:
    points, errors = np.linspace(0, 1, 41)[:, None], []
    for n in (20, 40):
        even = np.linspace(0, 1, n + 1)
        errors.append(
            error(interval.compare([recorded(waves, points, 0.6 * even * (1 + even) / 2)])[AMBIENT].coefficients)
        )
    assert errors[0] / errors[1] > 6  # Simpson's rule on uneven triples: at least order 3
    assert errors[1] < 1e-4


def test_gaps_are_left_out_and_said(interval: Setting) -> None:
    """A dead sensor and a lost time: what remains is what recordings without them give."""
    points, times = np.linspace(0, 1, 41)[:, None], np.linspace(0, 0.6, 41)
    whole = recorded(waves, points, times)
    values = whole.values["u"].copy()
    values[:, 7] = np.nan
    values[-1] = np.nan
    values[3, 5] = np.nan
    kept, note = without_gaps([replace(whole, values={"u": values})], ["u"])
    assert [r.values["u"].shape for r in kept] == [(40, 39)]
    assert note == "gaps: 7.2 % of the readings left out"  # 1 − 40·39/41²
    some = np.setdiff1d(np.arange(41), [5, 7])
    found = interval.compare([replace(whole, values={"u": values})])
    expected = interval.compare([recorded(waves, points[some], times[:-1])])
    for name in METHODS:
        assert dict(found[name].coefficients) == pytest.approx(dict(expected[name].coefficients), rel=1e-12)
        assert found[name].note.endswith(note)


def test_failures_are_notes(interval: Setting) -> None:
    points, times = np.linspace(0, 1, 41)[:, None], np.linspace(0, 0.6, 41)
    few = interval.compare([recorded(waves, points[::4], times)])
    assert {name for name, b in few.items() if not b.coefficients} == {AMBIENT, DERIVATIVE, RIDGE}
    assert few[RIDGE].note == "failed: recording 'one' has 11 sensors, too few for 20 functions"
    short = interval.compare([recorded(waves, points, times[:2])])  # the trapezoidal rule needs no more
    assert {name for name, b in short.items() if not b.coefficients} == {DIFFERENCES, DERIVATIVE}
    assert short[DERIVATIVE].note.startswith("failed: the recordings give 0 equations")
    silent = replace(recorded(waves, points, times), values={"u": np.full((41, 41), np.nan)})
    assert all(not b.coefficients and "no readings are left" in b.note for b in interval.compare([silent]).values())
    twice = replace(
        interval, candidates={"u": [*interval.candidates["u"], replace(interval.candidates["u"][0], label="again")]}
    )
    same = twice.compare([recorded(waves, points, times)])
    assert "do not tell the candidates apart" in same[DIFFERENCES].note


def test_known_coefficients_and_known_terms_move_to_the_left(interval: Setting) -> None:
    points, times = np.linspace(0, 1, 161)[:, None], np.linspace(0, 0.6, 81)
    diffusion, decay = interval.candidates["u"]
    recordings = [recorded(waves, points, times)]
    given = replace(interval, candidates={"u": [diffusion, replace(decay, known=LAW["u"])]}).compare(recordings)
    stated = compare(
        recordings, interval.domain, interval.fields, {"u": [diffusion]}, [decay.terms[0].scaled_by(LAW["u"])]
    )
    for b in stated:
        assert given[b.name].coefficients == pytest.approx({"Δu": b.coefficients["Δu"], "u": LAW["u"]}, rel=1e-7)
        assert b.coefficients["Δu"] == pytest.approx(LAW["Δu"], rel=1e-2)


def test_two_fields() -> None:
    """u_t = a u_xx + b v, v_t = c v_xx with u = p(t) sin πx, v = q(t) sin πx in closed form."""
    a, b, c = 0.04, 0.7, 0.1
    terms = {"u": {"Δu": DIFFUSION, "v": {**POWER, "of": "v"}}, "v": {"Δv": DIFFUSION}}
    two = setting({"kind": "interval", "left": 0, "right": 1}, 10, 12, terms)
    points, times = np.linspace(0, 1, 81)[1:-1, None], np.linspace(0, 1, 81)
    fall, own = np.exp(-c * np.pi**2 * times), np.exp(-a * np.pi**2 * times)
    rising = b * (fall - own) / ((a - c) * np.pi**2)
    sine = np.sin(np.pi * points[:, 0])
    recording = Recording("two", times, points, {"u": np.outer(own + rising, sine), "v": np.outer(fall, sine)})
    found = compare([recording], two.domain, two.fields, two.candidates)
    assert [(r.name, r.field) for r in found] == [(m, f) for f in ("u", "v") for m in METHODS]
    for r in found:
        limit = 0.2 if r.name == AMBIENT else 2e-3  # 12 waves of the box have no sine of the interval among them
        assert error(r.coefficients, {"Δu": a, "v": b} if r.field == "u" else {"Δv": c}) < limit, r


# --- finite differences ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def square() -> Setting:
    return setting({"kind": "rectangle", "x": [0, 1], "y": [0, 1]}, 6, 10, {"u": {"Δu": DIFFUSION}})


def test_finite_differences_on_a_grid_are_the_five_point_scheme(square: Setting) -> None:
    """On sin πx sin πy the five-point Laplacian is −(8/h²) sin²(πh/2), the centred difference in time −sinh(λτ)/τ."""
    h, step, c = 0.1, 0.01, 0.05
    x = np.arange(1, 10) * h
    points = np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2)
    rate = 2 * np.pi**2 * c
    mode: Function = lambda t, x: np.exp(-rate * t) * np.prod(np.sin(np.pi * x), axis=1)  # noqa: E731
    found = square.compare([recorded(mode, points, step * np.arange(11))])[DIFFERENCES]
    assert found.coefficients["Δu"] == pytest.approx(
        np.sinh(rate * step) / step / (8 / h**2 * np.sin(np.pi * h / 2) ** 2), rel=1e-10
    )
    assert found.note == "81 sensors, spacing 0.1, 49 nodes"


def test_differences_of_polynomials(square: Setting) -> None:
    """Centred differences of second order are exact on polynomials of degree one above their own order."""
    axis = np.arange(21) / 20
    points = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    grid = Grid.of(square.domain, points, 2)
    x, y = grid.nodes(grid.inside).T
    jet = grid.jet((x**4 * y**2)[None])
    X, Y = grid.nodes(grid.deep).T
    assert X.min() == pytest.approx(
        0.15, abs=0.051
    )  # two neighbours on either side, whether or not ∂Ω counts as inside
    for alpha, exact in {(3, 0): 24 * X * Y**2, (4, 1): 48 * Y, (4, 2): 48 + 0 * X, (0, 2): 2 * X**4}.items():
        np.testing.assert_allclose(jet.d(alpha)[0], exact, atol=1e-7)


def test_interpolation_is_linear_and_nearest_outside() -> None:
    random = np.random.default_rng(3)
    points = random.uniform(size=(60, 2))
    inner = 0.4 + 0.2 * random.uniform(size=(30, 2))
    linear = points @ [2.0, -1.0] + 0.3
    np.testing.assert_allclose(interpolation(points, inner) @ linear, inner @ [2.0, -1.0] + 0.3, atol=1e-12)
    far = np.array([[5.0, 5.0]])
    nearest = linear[np.argmin(np.linalg.norm(points - far, axis=1))]
    assert (interpolation(points, far) @ linear)[0] == pytest.approx(nearest)
    line = np.array([[0.0], [0.4], [1.0]])
    np.testing.assert_allclose(
        interpolation(line, np.array([[-1], [0.1], [0.7], [3]])) @ [0.0, 4.0, 1.0], [0, 1, 2.5, 1]
    )


def test_grid_is_that_of_the_sensors_or_as_dense_as_they_are(disk: Setting) -> None:
    points = lattice(disk.domain, 0.05)
    random = np.random.default_rng(1)
    for some in (points, random.permutation(points)[: len(points) * 2 // 3]):
        assert Grid.of(disk.domain, some, 1).h == pytest.approx([0.05, 0.05])
    scattered = scattered_points(disk.domain, 200, random)
    for some in (scattered, scattered.round(4), random.permutation(lattice(disk.domain, 0.03))[:200]):
        grid = Grid.of(disk.domain, some, 1)
        assert grid.h == pytest.approx(np.sqrt(np.pi * RADIUS**2 / 200))
        assert grid.inside.sum() == pytest.approx(200, rel=0.1)


# --- the disk: Bessel modes ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def disk() -> Setting:
    terms = {"u": {"Δu": DIFFUSION, "u": POWER, "u²": {**POWER, "p": 2}}}
    return setting({"kind": "disk", "radius": RADIUS}, 9, 20, terms)


def bessel(amplitudes: Sequence[float]) -> Function:
    """Σ_m a_m J_m(s_m r/R) cos mθ, decaying with LAW."""

    def u(t: np.ndarray, x: np.ndarray) -> np.ndarray:
        r, angle = np.hypot(*x.T), np.arctan2(x[:, 1], x[:, 0])
        total = np.zeros((len(t), len(x)))
        for m, a in enumerate(amplitudes):
            s = jn_zeros(m, 1)[0] / RADIUS
            total += a * np.exp((LAW["u"] - LAW["Δu"] * s**2) * t) * jv(m, s * r) * np.cos(m * angle)
        return total

    return u


STATES = ([1, 0.5, 0.2], [0.3, 1, -0.8], [-0.6, 0.2, 1])


def scattered_points(domain: Domain, count: int, random: np.random.Generator) -> np.ndarray:
    low, high = domain.bounds.T
    points = low + (high - low) * random.uniform(size=(6 * count, 2))
    return points[domain.contains(points)][:count]


def test_dense_clean_data_on_a_disk(disk: Setting) -> None:
    """Finite differences converge with order 2 in the spacing of the sensors; 20 waves of the box cannot follow these modes."""
    errors = []
    for h in (0.06, 0.03):
        points, times = lattice(disk.domain, h), np.linspace(0, 0.1, 21)
        found = disk.compare([recorded(bessel(a), points, times, f"{k}") for k, a in enumerate(STATES)])
        errors.append({name: error(b.coefficients) for name, b in found.items()})
    assert errors[0][DIFFERENCES] / errors[1][DIFFERENCES] == pytest.approx(4, rel=0.15)
    limits = {DIFFERENCES: 0.05, DERIVATIVE: 1e-3, RIDGE: 1e-4}
    assert {name for name, limit in limits.items() if errors[1][name] > limit} == set(), errors[1]


def test_all_are_worse_than_the_integral_form_on_sparse_noisy_data(disk: Setting) -> None:
    random = np.random.default_rng(5)
    times, names = np.linspace(0, 0.02, 241), ["ours", *METHODS]
    errors: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(4):
        points = scattered_points(disk.domain, 50, random)
        clean = [recorded(bessel(a), points, times, f"{k}") for k, a in enumerate(STATES)]
        noisy = [
            replace(r, values={"u": r.values["u"] + 1e-3 * random.standard_normal(r.values["u"].shape)}) for r in clean
        ]
        ours = identify(noisy, disk.fields, disk.candidates, options=Options()).laws["u"].full
        errors["ours"].append(error(dict(zip(ours.labels, ours.c, strict=True))))
        for name, b in disk.compare(noisy).items():
            errors[name].append(error(b.coefficients))
    rms = {name: float(np.sqrt(np.mean(np.square(e)))) for name, e in errors.items()}
    assert rms["ours"] < 0.03
    assert {name for name in METHODS if rms[name] < 3 * rms["ours"]} == set(), rms
