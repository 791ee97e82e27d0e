"""gleg discover from the command line, on data in closed form: modes of the disk that decay at known rates."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import yaml
from click.testing import CliRunner
from scipy.optimize import brentq
from scipy.special import jn_zeros, jv

import gleg
from gleg_cli.main import gleg as command_line
from gleg_core.errors import GlegError
from gleg_core.spec.problem import load_problem
from gleg_discovery.candidates import candidates_of
from gleg_discovery.law import with_uncertainty
from gleg_results.resolved import resolved

D, A, R = 0.05, 0.3, 0.6
MODES = [(m, k) for m in range(4) for k in range(1, 3)]
RNG = np.random.default_rng(5)
WEIGHTS = RNG.standard_normal((6, len(MODES), 2))
SENSORS = 0.9 * R * np.sqrt(RNG.random(150))[:, None] * (
    lambda angle: np.stack([np.cos(angle), np.sin(angle)], axis=1)
)(2 * np.pi * RNG.random(150))  # fmt: skip
TIMES = np.linspace(0.0, 0.2, 41)

PROBLEM: dict[str, Any] = {
    "domain": {"kind": "disk", "radius": R},
    "basis": {"kind": "fourier", "K": 12},
    "fields": {
        "u": {
            "boundary": [{"kind": "dirichlet"}],
            "candidates": [{"dictionary": "polynomial-diffusion", "max_degree": 2}],
        }
    },
    "space": {"rank": 40},
    "time": {"end": 1.0},
    "output": {"frames": 10},
}


def modes(points: np.ndarray, t: float) -> np.ndarray:
    """(modes, 2, points): J_m(s ρ/R) cos mφ and sin mφ, decaying as u_t = DΔu + A u says."""
    radius, angle = np.hypot(*points.T), np.arctan2(points[:, 1], points[:, 0])
    found = []
    for m, k in MODES:
        s = jn_zeros(m, k)[-1] / R
        radial = jv(m, s * radius) * np.exp((A - D * s**2) * t)
        found.append([radial * np.cos(m * angle), radial * np.sin(m * angle)])
    return np.array(found)


def truth(k: int, points: np.ndarray, t: float) -> np.ndarray:
    return np.tensordot(WEIGHTS[k], modes(points, t), axes=2)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_problem()
    write_data()
    return tmp_path


def write_problem(**changes: Any) -> None:
    Path("disk.yaml").write_text(yaml.safe_dump(PROBLEM | changes), encoding="utf-8")


def write_data(noise: float = 1e-4, **coordinates: Any) -> None:
    values = np.array([[truth(k, SENSORS, t) for t in TIMES] for k in range(len(WEIGHTS))])
    values += noise * values.std() * np.random.default_rng(6).standard_normal(values.shape)
    where = {"x": ("sensor", SENSORS[:, 0]), "y": ("sensor", SENSORS[:, 1]), "time": TIMES} | coordinates
    xr.Dataset({"u": (("trajectory", "time", "sensor"), values)}, where).to_netcdf("data.nc", engine="h5netcdf")


def discover(*options: str, code: int = 0) -> str:
    result = CliRunner().invoke(command_line, ["discover", "disk.yaml", "data.nc", *options])
    if code:
        assert isinstance(result.exception, GlegError) and result.exception.exit_code == code, result.output
        return str(result.exception)
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


def test_a_law_is_found_written_and_rolled_out(files: Path) -> None:
    """Far beyond the window, the rolled-out law is the closed form."""
    text = discover()
    assert re.search(r"u_t = 0\.0[45]\d+\(\d+\) Δu \+ 0\.[23]\d+\(\d+\) u\n", text)
    report = json.loads((files / "disk-law" / "report.json").read_text(encoding="utf-8"))
    found = {c["label"]: c for c in report["fields"]["u"]["candidates"]}
    assert [label for label, c in found.items() if c["kept"]] == ["Δu", "u"]
    for label, exact in (("Δu", D), ("u", A)):
        law = found[label]["law"]
        assert abs(law["value"] - exact) < 4 * law["standard_error"] < 0.02 * abs(exact)
        assert law["interval_95"][0] < law["value"] < law["interval_95"][1]
    assert {"coefficients.png", "selection.png", "sensors.png", "rollout.png", "law.yaml", "states.nc"} <= {
        p.name for p in (files / "disk-law").iterdir()
    }
    for k in (0, 3):
        run = gleg.solve("disk-law/law.yaml", restart={"trajectory": k})
        exact = truth(k, SENSORS, 1.0)
        assert np.abs(run.evaluate("u", SENSORS, 1.0) - exact).max() < 2e-3 * np.abs(exact).max()


def test_without_noise_the_coefficients_are_exact(files: Path) -> None:
    write_data(noise=0.0)
    data = json.loads(discover("--json", "--set", "space.rank=auto", "--set", "basis.K=16"))
    found = {c["label"]: c["full"]["value"] for c in data["fields"]["u"]["candidates"]}
    assert found == {
        "Δu": pytest.approx(D, rel=1e-6),
        "u": pytest.approx(A, rel=1e-4),
        "u²": pytest.approx(0, abs=1e-4),
    }


def test_what_is_known_is_used(files: Path) -> None:
    """A known coefficient is not estimated, a sign is respected, a term that is kept stays although nothing speaks for it."""
    candidates = [
        {
            "dictionary": "polynomial-diffusion",
            "max_degree": 2,
            "known": {"u": A},
            "signs": {"u²": "negative"},
            "keep": ["u²"],
        }
    ]
    write_problem(fields={"u": PROBLEM["fields"]["u"] | {"candidates": candidates}})
    data = json.loads(discover("--json"))["fields"]["u"]
    found = {c["label"]: c for c in data["candidates"]}
    assert data["known"] == {"u": A} and set(found) == {"Δu", "u²"}
    assert found["u²"]["kept"] and found["u²"]["law"]["value"] <= 0
    law = yaml.safe_load((files / "disk-law" / "law.yaml").read_text(encoding="utf-8"))
    assert next(t["coefficient"] for t in law["fields"]["u"]["equation"] if t["block"] == "polynomial:power") == A


def test_two_species_that_turn_into_each_other(files: Path) -> None:
    """u_t = DΔu + q v, v_t = DΔv − q u: with w = u + iv every mode turns at the rate q while it decays."""
    q = 2.0
    u, v = [], []
    for k in range(0, 6, 2):
        turned = [
            np.exp(-1j * q * t) * (truth(k, SENSORS, t) + 1j * truth(k + 1, SENSORS, t)) * np.exp(-A * t) for t in TIMES
        ]
        u.append(np.real(turned))
        v.append(np.imag(turned))
    noise = 1e-4 * np.std(u) * np.random.default_rng(7).standard_normal((2, *np.shape(u)))
    dims = ("trajectory", "time", "sensor")
    where = {"x": ("sensor", SENSORS[:, 0]), "y": ("sensor", SENSORS[:, 1]), "time": TIMES}
    xr.Dataset({"u": (dims, u + noise[0]), "v": (dims, v + noise[1])}, where).to_netcdf("data.nc", engine="h5netcdf")
    field = PROBLEM["fields"]["u"]
    write_problem(fields={"u": field, "v": field})
    law = json.loads(discover("--json"))["fields"]
    kept = {name: {c["label"]: c["law"]["value"] for c in f["candidates"] if c["kept"]} for name, f in law.items()}
    assert kept == {
        "u": {"Δu": pytest.approx(D, rel=1e-2), "v": pytest.approx(q, rel=1e-2)},
        "v": {"Δv": pytest.approx(D, rel=1e-2), "u": pytest.approx(-q, rel=1e-2)},
    }


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"fields": {"u": {"boundary": [{"kind": "dirichlet"}], "initial": 0, "equation": [{"block": "diffusion"}]}}},
         "no field has 'candidates'"),
        ({"fields": {"u": {"boundary": [{"kind": "dirichlet"}], "candidates": [{"dictionary": "paper-sx"}]}}},
         "Did you mean 'paper-six'"),
        ({"fields": {"u": {"boundary": [{"kind": "dirichlet"}], "candidates": [{"dictionary": "paper-six", "keep": ["u4"]}]}}},
         "no candidate 'u4'"),
        ({"fields": {"u": {"boundary": [{"kind": "dirichlet"}], "candidates": [{"block": "power"}, {"block": "power"}]}}},
         "two candidates 'polynomial:power'"),
        ({"fields": {"u": {"boundary": [{"kind": "dirichlet"}], "candidates": [{"block": "power", "known": {"u": 1}}]}}},
         "a known coefficient belongs in 'equation'"),
        ({"space": {"rank": 200}}, "150 sensors"),
    ],
)  # fmt: skip
def test_problems_that_cannot_be_discovered(files: Path, changes: dict[str, Any], says: str) -> None:
    write_problem(**changes)
    message = discover(code=2)
    assert re.search(says, message, re.DOTALL), message
    assert not (files / "disk-law").exists()


def test_a_law_on_a_rough_domain(files: Path) -> None:
    """Modes J_ν(s ρ/R) sin νφ, ν = 2k/3, of three quarters of the disk have unbounded gradients at its tip. Without a basis the law is
    found on elements."""
    orders = 2 / 3 * np.arange(1, 4)
    roots = [brentq(lambda s, v=v: jv(v, s), v + 1.8, v + 4.2) for v in orders]
    angles = np.mod(np.arctan2(*SENSORS.T[::-1]), 2 * np.pi)
    inside = angles < 1.5 * np.pi - 0.05
    rho, phi = np.hypot(*SENSORS[inside].T), angles[inside]
    shapes = np.array([jv(v, s * rho / R) * np.sin(v * phi) for v, s in zip(orders, roots, strict=True)])
    decay = np.exp(np.outer(TIMES, A - D * np.square(roots) / R**2))
    exact = np.einsum("km,tm,ms->kts", WEIGHTS[:, : len(orders), 0], decay, shapes)
    values = exact + 1e-4 * exact.std() * np.random.default_rng(6).standard_normal(exact.shape)
    where = {"x": ("sensor", SENSORS[inside, 0]), "y": ("sensor", SENSORS[inside, 1]), "time": TIMES}
    xr.Dataset({"u": (("trajectory", "time", "sensor"), values)}, where).to_netcdf("data.nc", engine="h5netcdf")
    sector = {"kind": "sector", "radius": R, "angles": [0, "3*pi/2"]}
    data = {key: value for key, value in (PROBLEM | {"domain": sector}).items() if key != "basis"}
    Path("disk.yaml").write_text(yaml.safe_dump(data), encoding="utf-8")
    assert load_problem("disk.yaml").basis.key == "elements:elements"
    law = json.loads(discover("--json"))["fields"]["u"]["candidates"]
    kept = {c["label"]: c["law"]["value"] for c in law if c["kept"]}
    assert kept == {"Δu": pytest.approx(D, rel=1e-2), "u": pytest.approx(A, rel=3e-2)}
    run = gleg.solve("disk-law/law.yaml", time={"start": 0.0, "end": TIMES[-1]})
    u = np.array([run.u(x, y, TIMES[-1]) for x, y in SENSORS[inside]])
    assert np.linalg.norm(u - exact[0, -1]) < 5e-3 * np.linalg.norm(exact[0, -1])


def test_data_in_other_units_are_recognised(files: Path) -> None:
    write_data(x=("sensor", 1000 * SENSORS[:, 0]), y=("sensor", 1000 * SENSORS[:, 1]))
    message = discover(code=2)
    assert message.startswith("data.nc: ") and "outside" in message and "mm" in message


def test_a_problem_with_candidates_cannot_be_run(files: Path) -> None:
    result = CliRunner().invoke(command_line, ["run", "disk.yaml"])
    assert "still to be found: gleg discover disk.yaml DATA" in str(result.exception)


def test_a_resolved_problem_is_the_same_problem(files: Path) -> None:
    candidates = [
        {"dictionary": "paper-six", "keep": ["Δu"], "signs": {"Δu": "positive"}, "known": {"u²": 0}, "guess": {"u": 1}},
        {"block": "power", "p": 4, "label": "u⁴", "sign": "negative"},
    ]
    problem = load_problem(PROBLEM | {"fields": {"u": PROBLEM["fields"]["u"] | {"candidates": candidates}}})
    again = load_problem(resolved(problem))
    assert resolved(again) == resolved(problem)
    ours, theirs = (candidates_of(p, p.fields[0]) for p in (problem, again))
    assert [(c.label, c.keep, c.sign, c.known, c.guess) for c in ours] == [
        (c.label, c.keep, c.sign, c.known, c.guess) for c in theirs
    ]
    assert [c.label for c in ours if c.keep or c.sign] == ["Δu", "u⁴"]


def test_indistinguishable_candidates_are_named(files: Path) -> None:
    twice = [
        {"block": "diffusion", "label": "one"},
        {"block": "diffusion", "label": "other", "coefficient": 2},
        {"block": "power"},
    ]
    write_problem(fields={"u": PROBLEM["fields"]["u"] | {"candidates": twice}})
    result = CliRunner().invoke(command_line, ["discover", "disk.yaml", "data.nc"])
    assert "'one' and 'other' act almost alike" in result.stderr


def test_a_missing_mechanism_shows_in_the_residual(files: Path) -> None:
    write_problem(
        fields={"u": PROBLEM["fields"]["u"] | {"candidates": [{"block": "power"}, {"block": "power", "p": 2}]}}
    )
    result = CliRunner().invoke(command_line, ["discover", "disk.yaml", "data.nc"])
    assert "the candidates do not explain the data" in result.stderr


def planned(*options: str, **section: Any) -> Any:
    candidates = [{"dictionary": "polynomial-diffusion", "max_degree": 2, "guess": {"Δu": D, "u": A}}]
    field = PROBLEM["fields"]["u"] | {"candidates": candidates}
    write_problem(
        fields={"u": field}, **({"plan": {"window": 0.2, "samples": 41, "sensors": 150, "recordings": 6, **section}})
    )
    return CliRunner().invoke(command_line, ["plan", "disk.yaml", *options])


def test_a_plan_foretells_the_standard_errors(files: Path) -> None:
    """Twice the recordings, noise or readings change them by known factors."""

    def errors(noise: str, **section: Any) -> np.ndarray:
        return np.array(
            [row["error"] for row in json.loads(planned("--noise", noise, "--json", **section).stdout)["rows"]]
        )

    once = errors("1e-3")
    assert errors("0.2%") == pytest.approx(2 * once, rel=1e-9)
    assert errors("1e-3", sensors=600) == pytest.approx(once / 2, rel=0.1)
    text = planned("--noise", "1%", "--target", "0.4%").stdout
    assert re.search("For ±0.4 % on .*u: a window of", text) and "sensors, or" in text and "recordings." in text
    assert "Every coefficient is determined to ±50 %." in planned("--noise", "1e-3", "--target", "50%").stdout


def test_a_plan_that_cannot_be_made(files: Path) -> None:
    missing = CliRunner().invoke(command_line, ["plan", "disk.yaml", "--noise", "1e-3"])
    assert "no section 'plan'" in str(missing.exception) and "guess:" in str(missing.exception)
    assert "write a share such as 1e-3 or 5%" in planned("--noise", "loud").stderr


def test_a_refined_law(files: Path) -> None:
    write_data(noise=1e-2)
    data = json.loads(discover("--json", "--refine"))["refined"]
    assert data["converged"] and data["chi2_after"] <= data["chi2_before"]
    assert data["chi2_after"] == pytest.approx(1, abs=0.05)
    for term, exact in zip(data["law"]["u"], (D, A), strict=True):
        assert abs(term["value"] - exact) < 4 * term["standard_error"]


def test_baselines_beside_the_law(files: Path) -> None:
    found = json.loads(discover("--json", "--baselines"))["baselines"]
    assert {b["field"] for b in found} == {"u"} and len(found) == 4
    text = discover("--baselines")
    assert all(b["name"].split()[0] in text for b in found)


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [(0.04, 2e-4, "0.0400(2)"), (0.061, 0.0042, "0.061(4)"), (-0.342, 0.013, "-0.342(13)"), (12.3, 4.0, "12(4)"), (0.5, 0.0, "0.5"),
     (123.0, 40.0, "123 ± 4e+01")],
)  # fmt: skip
def test_a_value_with_its_uncertainty(value: float, error: float, text: str) -> None:
    assert with_uncertainty(value, error) == text
