"""From a drawing to a solution: decay rates, the examples, and what validation imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy.optimize import brentq
from scipy.special import j0, jn_zeros, y0

import gleg

EXAMPLES = Path(__file__).parents[1] / "examples"
NAMES = ["leaf", "lake"]
HEAT = {"boundary": [{"kind": "dirichlet"}], "equation": [{"block": "diffusion"}]}


def test_heat_decays_on_a_drawn_circle_at_the_rate_of_the_bessel_zero(tmp_path: Path) -> None:
    """u = J_0(j r/a) exp(−(j/a)² t) on a disk of radius a = 0.6, drawn with radius 30 and scaled by its width."""
    a, j = 0.6, float(jn_zeros(0, 1)[0])
    (tmp_path / "disk.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"><circle cx="7" cy="9" r="30"/></svg>')
    spec = {
        "domain": {"kind": "svg", "path": str(tmp_path / "disk.svg"), "width": 2 * a},
        "basis": {"kind": "fourier", "K": 14},
        "fields": {"u": {"initial": initial_series(j / a), **HEAT}},
        "time": {"end": 0.2},
    }
    run = gleg.solve(spec)
    for x, y in [(0.0, 0.0), (0.2, -0.3), (-0.1, 0.45)]:
        exact = j0(j * np.hypot(x, y) / a) * np.exp(-((j / a) ** 2) * 0.2)
        assert float(run.u(x, y, 0.2)) == pytest.approx(exact, rel=1e-6)


def initial_series(k: float) -> str:
    """J_0(k r) = Σ_m (−k²r²/4)^m / m!², as a formula."""
    terms, factor = [], 1.0
    for m in range(14):
        terms.append(f"{factor!r}*(x^2 + y^2)^{m}" if m else "1")
        factor *= -(k**2) / 4 / (m + 1) ** 2
    return " + ".join(f"({term})" for term in terms)


def test_rates_with_holes_agree_with_the_annulus(tmp_path: Path) -> None:
    """A drawn ring with u = 0 on both circles against the first zero of J_0(ka) Y_0(kb) − J_0(kb) Y_0(ka)."""
    a, b = 0.3, 0.7
    k = brentq(lambda s: j0(s * a) * y0(s * b) - j0(s * b) * y0(s * a), 5, 10)
    ring = f'<path fill-rule="evenodd" d="{circle_path(b)} {circle_path(a)}"/>'
    (tmp_path / "ring.svg").write_text(f'<svg xmlns="http://www.w3.org/2000/svg">{ring}</svg>')
    spec = {
        "domain": {"kind": "svg", "path": str(tmp_path / "ring.svg")},
        "basis": {"kind": "fourier", "K": 14},
        "fields": {"u": {"initial": f"(x^2 + y^2 - {a**2})*({b**2} - x^2 - y^2)", **HEAT}},
        "time": {"end": 0.12},
        "output": {"frames": 12},
    }
    run = gleg.solve(spec)
    # After t = 0.08 the next radial mode, four times as fast, has decayed to 1e-6 of the first.
    early, late = (float(run.u(0.0, 0.5, t)) for t in (0.1, 0.12))
    assert np.log(early / late) / 0.02 == pytest.approx(k**2, rel=1e-6)


def circle_path(r: float) -> str:
    return f"M {-r} 0 a {r} {r} 0 1 0 {2 * r} 0 a {r} {r} 0 1 0 {-2 * r} 0 z"


@pytest.mark.parametrize("name", NAMES)
def test_the_examples_are_short_valid_and_say_what_one_sees(name: str) -> None:
    file = EXAMPLES / f"{name}.yaml"
    lines = file.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 40
    assert lines[0].startswith("# ")
    program = (
        "import sys; from gleg_cli.main import main\n"
        f"sys.argv[1:] = ['validate', {str(file)!r}]\n"
        "try: main()\n"
        "finally: print(sorted({'torch', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert f"'drawings:{'svg' if name == 'leaf' else 'map'}'" in done.stdout, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_lake_example_runs_coarsely() -> None:
    """Dye is lost at the island only, so its amount falls; the boundary conditions hold."""
    spec = yaml.safe_load((EXAMPLES / "lake.yaml").read_text(encoding="utf-8"))
    spec["domain"]["path"] = str(EXAMPLES / spec["domain"]["path"])
    spec["basis"]["K"] = 8
    spec["output"] = {"frames": 4}
    run = gleg.solve(spec)
    rule = run.discretisation.domain.quadrature(2.0)
    amounts = [float(rule.weights @ np.asarray(run.u(*rule.points.T, t))) for t in (0.0, 3.0, 6.0)]
    assert amounts[0] > amounts[1] > amounts[2] > 0
    assert run.metrics["boundary_residual"]["relative"] < 1e-5
