"""The Dask engine: a worker that is killed costs no case, and the files are those of the local engine."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gleg_core.errors import PackError
from gleg_core.spec.loading import load_document
from gleg_sweeps import command as sweep
from gleg_sweeps.cases import plan_sweep
from gleg_sweeps.dask_engine import run_cases
from gleg_sweeps.outcome import kept
from gleg_sweeps.values import parse_variation

distributed = pytest.importorskip("distributed", reason="Dask's distributed is not installed")

HEAT = """\
domain: {kind: disk, radius: 0.6}
basis: {kind: fourier, K: 6}
constants: {D: 0.1, j01: 2.404825557695773}
fields:
  u:
    exact: besselj0(j01*sqrt(x^2 + y^2)/0.6)*exp(-D*(j01/0.6)^2*t)
    boundary: [{kind: dirichlet}]
    equation: [{block: diffusion, coefficient: D}]
time: {end: 0.1, step: 1e-4}
output: {frames: 2, grid: 15, pictures: false}
"""


def test_a_killed_worker_costs_no_case(tmp_path: Path) -> None:
    (tmp_path / "heat.yaml").write_text(HEAT, encoding="utf-8")
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        workers = client.run(os.getpid)
        assert len(set(workers.values())) == 2
        command = [
            *(sys.executable, "-m", "gleg_cli", "sweep", "heat.yaml", "--vary", "constants.D=1:8:8"),
            *("--engine", "dask", "--scheduler", cluster.scheduler_address),
        ]
        process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        cases = tmp_path / "heat-sweep" / "cases"
        while process.poll() is None and not list(cases.glob("*.json")):
            time.sleep(0.01)
        finished = len(list(cases.glob("*.json")))
        address, busy = next((a, tasks) for a, tasks in client.processing().items() if tasks)
        os.kill(workers[address], signal.SIGKILL)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert finished < 8 and busy, "the worker had work when it was killed"
    assert f"sweep    8 cases; {cluster.scheduler_address}" in out
    outcomes = [json.loads(path.read_text(encoding="utf-8")) for path in cases.glob("*.json")]
    assert sorted(o["case"][0] for o in outcomes) == sorted(f"constants.D={D}" for D in range(1, 9))
    assert all(o["metrics"]["relative_l2"]["final"] < 1e-5 for o in outcomes)
    plan = plan_sweep(load_document(tmp_path / "heat.yaml"), [], [parse_variation("constants.D=1:8:8")], zipped=False)
    assert all(kept(cases.parent, case) for case in plan.cases), "another engine goes on with these files"


def test_results_that_die_with_their_worker_are_solved_again(tmp_path: Path) -> None:
    (tmp_path / "heat.yaml").write_text(HEAT, encoding="utf-8")
    plan = plan_sweep(load_document(tmp_path / "heat.yaml"), [], [parse_variation("constants.D=1:6:6")], zipped=False)
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        workers = client.run(os.getpid)
        outcomes = run_cases(plan.cases, None, 2, cluster.scheduler_address)
        solved = [next(outcomes)[0]]
        deadline = time.monotonic() + 120
        while sum(map(len, client.has_what().values())) < 5 and time.monotonic() < deadline:
            time.sleep(0.02)  # all others are done, and their results still lie with the workers
        address, results = max(client.has_what().items(), key=lambda item: len(item[1]))
        assert results
        os.kill(workers[address], signal.SIGKILL)
        while address in client.has_what() and time.monotonic() < deadline:
            time.sleep(0.02)
        solved += [case for case, outcome in outcomes if outcome["metrics"]["relative_l2"]["final"] < 1e-5]
    assert sorted(map(str, solved)) == sorted(map(str, plan.cases))


def test_without_distributed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "heat.yaml").write_text(HEAT, encoding="utf-8")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(PackError, match=r"pip install 'gleg-sweeps\[dask\]'"):
        sweep.sweep_problem(
            load_document(tmp_path / "heat.yaml"), [], ["constants.D=1,2"], tmp_path / "out", engine="dask"
        )
    assert not (tmp_path / "out").exists()
