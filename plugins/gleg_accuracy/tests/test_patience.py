"""Trials take no longer than the file allows, and what there is by then is kept."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import gleg
from gleg_accuracy import patience
from gleg_accuracy.patience import OutOfPatience, Patience
from gleg_core.solver import Silent

CORNERS = [[0, 0], [1, 0], [1, 1], [0.5, 1], [0.5, 0.5], [0, 0.5]]


def heat(**keys: Any) -> dict[str, Any]:
    return {
        "domain": {"kind": "polygon", "vertices": CORNERS},
        "fields": {
            "u": {
                "initial": "sin(2*pi*x)*sin(2*pi*y)",
                "boundary": [{"kind": "dirichlet", "value": 0}],
                "equation": [{"block": "diffusion", "coefficient": 0.1}],
            }
        },
        "time": {"end": 0.1},
        "output": {"frames": 4},
        **keys,
    }


def test_without_patience_the_first_trial_is_kept_and_says_what_it_leaves() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = gleg.solve(heat(accuracy=1e-7, patience=0))
    finer = gleg.solve(heat(accuracy=1e-6))
    assert run.choice.trials == 1 and not run.choice.reached
    assert any("try  patience: 60" in str(w.message) for w in caught)
    points = np.random.default_rng(0).uniform([0, 0], [1, 0.5], (500, 2))
    u, v = (r.evaluate("u", points, 0.1) for r in (run, finer))
    assert np.linalg.norm(u - v) / np.linalg.norm(v) < 3 * float(run.estimate) < 0.1


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(patience.time, "perf_counter", lambda: now[0])
    return now


def test_a_hopeless_trial_is_given_up_before_all_time_is_gone(clock: list[float]) -> None:
    watch = Patience(100.0).watching(Silent())
    for seconds in range(21):  # a thousandth of the way every second
        clock[0] = float(seconds)
        watch.progress(1e-3 * seconds, end=1.0)
    clock[0] = 21.0
    with pytest.raises(OutOfPatience):
        watch.progress(0.021, end=1.0)


def test_one_that_becomes_faster_is_not(clock: list[float]) -> None:
    watch = Patience(100.0).watching(Silent())
    for seconds in range(90):
        clock[0] = float(seconds)
        watch.progress((seconds / 90) ** 2, end=1.0)
    clock[0] = 101.0
    with pytest.raises(OutOfPatience):
        watch.progress(0.99, end=1.0)
