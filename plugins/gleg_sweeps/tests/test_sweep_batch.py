"""The batch engine of sweeps: the same numbers as single runs, and mistakes that name what cannot be batched."""

import json
from pathlib import Path

import pytest

from gleg_core.spec.loading import load_document
from gleg_sweeps.command import sweep_problem

HEAT = """\
domain: {kind: disk, radius: 0.6}
basis: {kind: fourier, K: 7}
constants: {D: 0.1, r: 0.5, j01: 2.404825557695773, a: 1}
fields:
  u:
    exact: a*besselj0(j01*sqrt(x^2 + y^2)/0.6)*exp((r - D*(j01/0.6)^2)*t)
    boundary: [{kind: dirichlet}]
    equation:
      - {block: diffusion, coefficient: D}
      - {block: power, coefficient: r}
time: {end: 0.1, step: 0.01}
output: {frames: 2, grid: 15, pictures: false}
"""


def swept(folder: Path, engine: str, *varied: str, settings: tuple[str, ...] = ()) -> tuple[int, dict[str, dict]]:
    (folder / "heat.yaml").write_text(HEAT, encoding="utf-8")
    out = folder / engine
    code = sweep_problem(load_document(folder / "heat.yaml"), settings, varied, out, engine=engine, quiet=True)
    found = [json.loads(p.read_text(encoding="utf-8")) for p in (out / "cases").glob("*.json")]
    return code, {", ".join(outcome["case"]): outcome for outcome in found}


def test_a_batch_gives_the_numbers_of_single_runs(tmp_path: Path) -> None:
    """Coefficients and initial states vary; every case is scored against its own exact solution."""
    varied = ("constants.D=0.05,0.1,0.2", "constants.a=1,-2")
    code, batch = swept(tmp_path, "batch", *varied)
    assert code == 0 and len(batch) == 6
    _, single = swept(tmp_path, "local", *varied)
    for case, outcome in batch.items():
        errors = [o["metrics"]["relative_l2"]["final"] for o in (outcome, single[case])]
        assert errors[0] < 1e-5 and errors[0] == pytest.approx(errors[1], rel=1e-2, abs=1e-9)
        integrals = [o["metrics"]["fields"]["u"]["invariants"] for o in (outcome, single[case])]
        assert integrals[0].keys() == integrals[1].keys()


def test_cases_of_different_spaces_go_in_batches_of_their_own(tmp_path: Path) -> None:
    code, found = swept(tmp_path, "batch", "basis.K=6,7", "constants.D=0.05,0.1")
    assert code == 0 and len(found) == 4
    assert {o["metrics"]["fields"]["u"]["space"]["M"] for o in found.values()} == {113, 149}


def test_what_cannot_be_batched_is_said(tmp_path: Path) -> None:
    code, found = swept(tmp_path, "batch", "time.step=0.01,0.02")
    assert code == 2
    assert all("time differs between members" in outcome["failure"] for outcome in found.values())
