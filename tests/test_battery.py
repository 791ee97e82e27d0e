"""A few problems of the battery, by default settings: what is wrong is warned of, what is right is not, and estimates bound errors.

``make battery`` solves all of them.
"""

from __future__ import annotations

import importlib.util
import warnings
from pathlib import Path
from types import ModuleType

import pytest

import gleg

FOLDER = Path(__file__).parents[1] / "benchmarks" / "battery"
CASES = (
    "boundary_data/square_hot_side",
    "corners/l_shape_singular",
    "fronts/burgers_steepening",
    "fronts/nagumo_interval",
    "initial/hot_disk",
    "initial/very_short_waves",
    "initial/wide_and_narrow",
    "layers/peclet_1000",
    "pulses/source_needle",
    "smooth/annulus_manufactured",
    "stiff/fast_relaxation",
    "waves/drum",
)


def runner() -> ModuleType:
    spec = importlib.util.spec_from_file_location("battery_run", FOLDER / "run.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_silently_wrong(name: str) -> None:
    battery = runner()
    case = battery.load(FOLDER / f"{name}.py")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = gleg.solve(case.PROBLEM)
    warned = [str(w.message) for w in caught if "not resolved" in str(w.message)]
    found = battery.true_error(run, case)
    assert warned or found["error"] < battery.WRONG
    assert not warned or found["error"] > battery.RIGHT, warned
    assert found["later"] < max(3 * float(run.estimate), 1e-4)
