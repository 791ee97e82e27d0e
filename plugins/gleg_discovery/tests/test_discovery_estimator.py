"""The estimator of laws against data that come from formulas, and against bounds known in closed form."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import jn_zeros, jv

from gleg_core.spec.problem import load_problem
from gleg_core.system.discrete_field import DiscreteField
from gleg_core.system.discretise import realised_terms
from gleg_core.system.spaces import build_spaces
from gleg_core.system.terms import Term
from gleg_discovery.identify import Identification, Options, identify
from gleg_discovery.observations import Recording
from gleg_discovery.paths import fit_paths
from gleg_discovery.responses import LabelledTerm
from gleg_discovery.smooth_space import smoothest_first

DIFFUSION = {"block": "diffusion"}
POWERS = [{"block": "power", "p": p} for p in (1, 2, 3)]


def setting(
    domain: dict, equations: dict[str, list[dict]], K: int, rank: int | None, boundary: dict | None = None, **space
) -> tuple[dict[str, DiscreteField], list[Term]]:
    """Spaces of the ``rank`` smoothest functions, or of all; one term per entry of an equation."""
    conditions = [boundary or {"kind": "dirichlet"}]
    fields = {
        name: {"initial": 0, "boundary": conditions, "equation": equation} for name, equation in equations.items()
    }
    spec = {"domain": domain, "basis": {"kind": "fourier", "K": K}, "fields": fields, "time": {"end": 1}}
    problem = load_problem({**spec, "space": space})
    terms = [t for f in problem.fields for s in f.terms for t in realised_terms(problem, f, s, problem.scope.dim)]
    whole = {f.name: f for f in build_spaces(problem, terms).fields}
    return {n: f if rank is None else smoothest_first(f, rank) for n, f in whole.items()}, terms


def labelled(terms: list[Term], labels: str, **flags) -> list[LabelledTerm]:
    return [LabelledTerm(label, (term,), **flags) for label, term in zip(labels.split(), terms, strict=True)]


# --- heat on an interval of length 1: u = Σ a_n sin(nπx) exp((k − Dn²π²) t) ---------------------------------------------------------

INTERVAL = {"kind": "interval", "left": 0.0, "right": 1.0}
D, GROWTH = 0.7, 1.5
SENSORS = (np.arange(40) + 0.5)[:, None] / 40  # midpoints: the sines are orthogonal on them
TIMES = np.linspace(0, 0.05, 60)
STATES = np.array([[1.0, 0.6, -0.4, 0.3], [-0.3, 0.8, 0.5, -0.3], [0.5, -0.5, 0.6, 0.2]])


def heat(a: np.ndarray, times: np.ndarray, x: np.ndarray) -> np.ndarray:
    n = np.arange(1, len(a) + 1)
    return np.exp(np.outer(times, GROWTH - D * (n * np.pi) ** 2)) @ (a[:, None] * np.sin(np.outer(n, np.pi * x[:, 0])))


def heat_recordings(sigma: float = 0.0, seed: int = 0, times: np.ndarray = TIMES) -> list[Recording]:
    random = np.random.default_rng(seed)
    values = [heat(a, times, SENSORS) + sigma * random.standard_normal((len(times), len(SENSORS))) for a in STATES]
    return [Recording(f"{k}", times, SENSORS, {"u": v}) for k, v in enumerate(values)]


@pytest.fixture(scope="module")
def interval() -> tuple[dict[str, DiscreteField], list[LabelledTerm]]:
    fields, terms = setting(INTERVAL, {"u": [DIFFUSION, *POWERS]}, K=24, rank=8)
    return fields, labelled(terms, "Δu u u² u³")


def found(recordings: list[Recording], interval: tuple, options: Options | None = None) -> Identification:
    fields, candidates = interval
    return identify(recordings, fields, {"u": candidates}, options=options or Options())


def bound(sigma: float, times: np.ndarray = TIMES) -> float:
    """σ/√F for D with everything else known but the initial states: each mode has sensitivity −λ t e^{−μt} a and nuisance e^{−μt}."""
    n = np.arange(1, STATES.shape[1] + 1)
    rate = (n * np.pi) ** 2
    decay = np.exp(np.outer(times, GROWTH - D * rate))
    squares = (decay**2).sum(axis=0)
    free = (times[:, None] ** 2 * decay**2).sum(axis=0) - (times[:, None] * decay**2).sum(axis=0) ** 2 / squares
    return sigma / np.sqrt(len(SENSORS) / 2 * (rate**2 * free * STATES**2).sum())


def test_exact_data_on_an_interval(interval: tuple) -> None:
    law = found(heat_recordings(), interval).laws["u"]
    assert law.full.c == pytest.approx([D, GROWTH, 0, 0], abs=1e-7)
    assert law.law.labels == ("Δu", "u")
    assert law.law.c == pytest.approx([D, GROWTH], rel=1e-7)


def test_exact_data_on_a_disk() -> None:
    """Bessel modes J_m(j r/R) cos mθ decay with D j²/R² − k."""
    R = 0.6
    fields, terms = setting({"kind": "disk", "radius": R}, {"u": [DIFFUSION, *POWERS]}, K=12, rank=20)
    radius, angle = np.random.default_rng(1).uniform(size=(2, 90))
    radius, angle = R * 0.97 * np.sqrt(radius), 2 * np.pi * angle
    points = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    times = np.linspace(0, 0.02, 30)

    def recording(name: str, modes: list[tuple[int, int, float]]) -> Recording:
        values = np.zeros((len(times), len(points)))
        for m, k, a in modes:
            j = jn_zeros(m, k)[-1]
            values += a * np.outer(
                np.exp((0.3 - 0.5 * (j / R) ** 2) * times), jv(m, j * radius / R) * np.cos(m * angle)
            )
        return Recording(name, times, points, {"u": values})

    data = [recording("a", [(0, 1, 1.0), (1, 1, 0.7)]), recording("b", [(2, 1, 0.8), (0, 2, -0.5), (0, 1, 0.3)])]
    law = identify(data, fields, {"u": labelled(terms, "Δu u u² u³")}).laws["u"]
    assert law.law.labels == ("Δu", "u")
    assert law.full.c == pytest.approx([0.5, 0.3, 0, 0], abs=5e-5)
    assert law.law.c == pytest.approx([0.5, 0.3], abs=2e-6)


@pytest.mark.parametrize("end", [0.02, 0.15])
def test_errors_reach_the_bound_and_intervals_cover(interval: tuple, end: float) -> None:
    fields, (diffusion, growth, *_) = interval
    known = LabelledTerm(growth.label, growth.terms, known=GROWTH)
    sigma, draws, times = 0.01, 100, np.linspace(0, end, 60)
    errors, inside = [], []
    for seed in range(draws):
        law = identify(heat_recordings(sigma, seed, times), fields, {"u": [diffusion, known]}).laws["u"]
        errors.append(law.full.c[0] - D)
        low, high = law.full.intervals[0]
        inside.append(low <= D <= high)
    least = bound(sigma, times)
    assert abs(np.mean(errors)) < 4 * least / np.sqrt(draws)
    assert np.sqrt(np.mean(np.square(errors))) / least == pytest.approx(1, abs=0.25)  # 3.5 standard deviations
    assert np.mean(inside) >= 0.88  # probability 0.004 to fail by chance at 95 %


# --- gaps ---------------------------------------------------------------------------------------------------------------------------


def without(
    recordings: list[Recording], times: np.ndarray, sensors: np.ndarray
) -> tuple[list[Recording], list[Recording]]:
    """The recordings with these rows and columns missing, and with them cut out."""
    holes, cut = [], []
    for k in recordings:
        u = k.values["u"].copy()
        u[times], u[:, sensors] = np.nan, np.nan
        holes.append(Recording(k.name, k.times, k.points, {"u": u}))
        rest = np.delete(np.delete(k.values["u"], times, axis=0), sensors, axis=1)
        cut.append(Recording(k.name, np.delete(k.times, times), np.delete(k.points, sensors, axis=0), {"u": rest}))
    return holes, cut


def test_missing_values_are_as_good_as_cut_out(interval: tuple) -> None:
    sigma = 0.01
    holes, cut = without(heat_recordings(sigma), np.array([3, 17, 40]), np.array([0, 5, 6, 20]))
    options = Options(degree=5, noise=sigma)
    one, other = (found(data, interval, options).laws["u"] for data in (holes, cut))
    assert (np.abs(one.full.c - other.full.c) < 0.02 * other.full.errors).all()
    assert one.full.errors == pytest.approx(other.full.errors, rel=0.02)
    assert one.paths.Z[0] == pytest.approx(other.paths.Z[0], abs=1e-9)


def test_noise_and_degree_are_found_in_spite_of_gaps(interval: tuple) -> None:
    holes, cut = without(heat_recordings(0.01), np.array([3, 17, 40]), np.array([0, 5, 6, 20]))
    one, other = (found(data, interval).paths["u"] for data in (holes, cut))
    assert one.degree == other.degree
    assert one.sigma == pytest.approx(0.01, rel=0.03)
    assert np.isnan(one.residuals[0][[0, 5, 6, 20]]).all()


def test_sensors_that_report_one_at_a_time(interval: tuple) -> None:
    """Five of forty sensors at every time, others at the next: exact data still give the exact law."""
    scattered = []
    for k in heat_recordings(times=np.linspace(0, 0.05, 160)):
        chosen = np.random.default_rng(int(k.name)).random((160, 40)).argsort(axis=1)[:, :5]
        u = np.full_like(k.values["u"], np.nan)
        np.put_along_axis(u, chosen, np.take_along_axis(k.values["u"], chosen, axis=1), axis=1)
        scattered.append(Recording(k.name, k.times, k.points, {"u": u}))
    law = found(scattered, interval).laws["u"]
    assert law.law.labels == ("Δu", "u")
    assert law.law.c == pytest.approx([D, GROWTH], rel=1e-5)


def test_recordings_with_sensors_and_times_of_their_own(interval: tuple) -> None:
    times = [
        np.linspace(0, 0.05, 60),
        np.sort(np.random.default_rng(3).uniform(0.01, 0.04, 45)),
        np.linspace(0, 0.02, 4),
    ]
    points = [np.random.default_rng(k).uniform(0.02, 0.98, (n, 1)) for k, n in enumerate((30, 45, 25))]
    data = [
        Recording(f"{k}", t, x, {"u": heat(a, t, x)})
        for k, (a, t, x) in enumerate(zip(STATES, times, points, strict=True))
    ]
    law = found(data, interval).laws["u"]
    assert law.law.labels == ("Δu", "u")
    assert law.law.c == pytest.approx([D, GROWTH], rel=1e-4)  # four times only resolve the third recording so far


# --- boundary data, several fields, known terms -------------------------------------------------------------------------------------


K_EXP = 4.0
DENSE = (np.arange(100) + 0.5)[:, None] / 100


def moving_setting(lift: str) -> tuple[dict[str, DiscreteField], list[LabelledTerm], list[Recording]]:
    """u = exp(Dk²t + kx) + decaying sines solves u_t = D u_xx with the boundary values of the exponential."""
    value = {"kind": "dirichlet", "value": f"exp({D * K_EXP**2}*t + {K_EXP}*x)"}
    fields, terms = setting(INTERVAL, {"u": [DIFFUSION, *POWERS[:2]]}, 30, None, value, lift=lift)
    n, x = np.arange(1, 5), DENSE[:, 0]
    decay, sines = np.exp(-np.outer(TIMES, D * (n * np.pi) ** 2)), np.sin(np.outer(n, np.pi * x))
    moving = np.exp(D * K_EXP**2 * TIMES[:, None] + K_EXP * x)
    data = [Recording("", TIMES, DENSE, {"u": moving + decay @ (20 * a[:, None] * sines)}) for a in STATES]
    return fields, labelled(terms, "Δu u u²"), data


@pytest.mark.parametrize("lift", ["mass-minimal", "minimum-norm"])
def test_moving_boundary_data(lift: str) -> None:
    fields, candidates, data = moving_setting(lift)
    assert fields["u"].lift is not None and fields["u"].lift.moving
    law = identify(data, fields, {"u": candidates}).laws["u"]
    assert law.law.labels == ("Δu",)
    assert law.law.c == pytest.approx([D], rel=1e-8)


def test_few_functions_suffice_beyond_a_smooth_lift() -> None:
    """Sixteen of fifty functions: the lift of the whole space would leave a misfit of 5, and 1e-4 of the coefficient."""
    fields, candidates, data = moving_setting("mass-minimal")
    law = identify(data, fields, {"u": candidates[:1]}, options=Options(rank=16)).laws["u"]
    assert law.paths.misfit < 0.05
    assert law.law.c == pytest.approx([D], rel=1e-6)


def test_two_fields() -> None:
    """u_t = u_xx + 3v, v_t = 0.4 v_xx − 2u: every sine is a linear system of two equations."""
    equations = {
        "u": [DIFFUSION, {"block": "power", "of": "u"}, {"block": "power", "of": "v"}],
        "v": [DIFFUSION, {"block": "power", "of": "u"}, {"block": "power", "of": "v"}],
    }
    fields, terms = setting(INTERVAL, equations, 24, 8)
    candidates = {"u": labelled(terms[:3], "Δu u v"), "v": labelled(terms[3:], "Δv u v")}
    data = []
    for name, a in enumerate(STATES):
        both = np.zeros((2, len(TIMES), len(SENSORS)))
        for n in (1, 2, 3):
            rate = (n * np.pi) ** 2
            values, vectors = np.linalg.eig(np.array([[-rate, 3.0], [-2.0, -0.4 * rate]]))
            amplitude = np.linalg.solve(vectors, np.array([a[n - 1], a[-n]], dtype=complex))
            path = (np.exp(np.outer(TIMES, values)) * amplitude) @ vectors.T
            both += path.real.T[:, :, None] * np.sin(n * np.pi * SENSORS[:, 0])
        data.append(Recording(f"{name}", TIMES, SENSORS, {"u": both[0], "v": both[1]}))
    laws = identify(data, fields, candidates).laws
    assert laws["u"].law.labels == ("Δu", "v") and laws["v"].law.labels == ("Δv", "u")
    assert laws["u"].law.c == pytest.approx([1.0, 3.0], rel=1e-6)
    assert laws["v"].law.c == pytest.approx([0.4, -2.0], rel=1e-6)


def test_known_terms_and_unknown_sources() -> None:
    """u_t = D u_xx + 5 cos(40t) u + c sin(πx): the modulated growth is known, D and c are not."""
    equation = [
        DIFFUSION,
        {"block": "source", "value": "sin(pi*x)"},
        POWERS[1],
        {"block": "power", "coefficient": "5*cos(40*t)"},
    ]
    fields, terms = setting(INTERVAL, {"u": equation}, 24, 8)
    grown = np.exp(5 / 40 * np.sin(40 * TIMES))
    n = np.arange(1, 5)
    decay = np.exp(-np.outer(TIMES, D * (n * np.pi) ** 2)) * grown[:, None]
    fine = np.linspace(0, TIMES[-1], 59 * 200 + 1)  # the response to the source by quadrature, 200 steps per sample
    integrand = np.exp(D * np.pi**2 * fine - 5 / 40 * np.sin(40 * fine))
    steps = (integrand[:-2:2] + 4 * integrand[1:-1:2] + integrand[2::2]) * (fine[1] - fine[0]) / 3
    forced = 2.0 * decay[:, 0] * np.concatenate([[0.0], np.cumsum(steps)])[::100]
    sines = np.sin(np.outer(n, np.pi * SENSORS[:, 0]))
    data = [
        Recording("", TIMES, SENSORS, {"u": decay @ (a[:, None] * sines) + np.outer(forced, sines[0])}) for a in STATES
    ]
    law = identify(data, fields, {"u": labelled(terms[:3], "Δu f u²")}, known=terms[3:]).laws["u"]
    assert law.law.labels == ("Δu", "f")
    assert law.law.c == pytest.approx([D, 2.0], rel=1e-6)


def test_flags_of_candidates(interval: tuple) -> None:
    """A wrong sign is refused, a term to keep is kept, a known coefficient is not estimated."""
    fields, (diffusion, growth, square, cube) = interval
    refused = LabelledTerm(growth.label, growth.terms, sign=-1)
    kept = LabelledTerm(square.label, square.terms, keep=True)
    given = LabelledTerm(cube.label, cube.terms, known=0.0)
    law = identify(heat_recordings(1e-3), fields, {"u": [diffusion, refused, kept, given]}).laws["u"]
    assert law.full.c[1] == pytest.approx(0.0, abs=1e-9)
    assert law.law.labels == ("Δu", "u²")
    assert law.labels == ("Δu", "u", "u²") and law.known == {"u³": 0.0}


def test_rank_is_chosen_by_cross_validation(interval: tuple) -> None:
    """Four sines in noise: neither fewer functions nor many more."""
    fields, _ = setting(INTERVAL, {"u": [DIFFUSION]}, K=24, rank=None)
    paths = fit_paths(fields["u"], heat_recordings(0.02))
    assert 4 <= paths.rank <= 8
    assert paths.misfit < 0.01


def test_misfit_of_the_space_is_not_noise(interval: tuple) -> None:
    """A steady pattern that the space cannot show: reported, but neither noise nor law."""
    pattern = 0.3 * np.sin(25 * np.pi * SENSORS[:, 0])
    data = [Recording(k.name, k.times, k.points, {"u": k.values["u"] + pattern}) for k in heat_recordings(0.01)]
    law = found(data, interval).laws["u"]
    assert law.paths.sigma == pytest.approx(0.01, rel=0.03)
    assert law.paths.misfit == pytest.approx(np.sqrt(np.mean(pattern**2)), rel=0.05)
    assert abs(law.law.c[0] - D) < 4 * law.law.errors[0]
