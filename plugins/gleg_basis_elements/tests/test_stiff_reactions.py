"""Reactions much faster than a run on elements: few steps, and every field right relative to itself. Truth: scipy's Radau."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import gleg

K = 1e6


def reacting(k: float) -> dict[str, Any]:
    """a_t = Δa/100 − a, b_t = Δb/100 + a − k b², the same everywhere: b follows √(a/k), far less than a, at the rate 2√(k a)."""
    slow = {"block": "diffusion", "coefficient": 0.01}
    edge = [{"kind": "neumann"}]
    return {
        "domain": {"kind": "interval", "left": 0, "right": 1},
        "basis": {"kind": "elements", "size": 0.25, "order": 2},
        "fields": {
            "a": {"initial": 1, "boundary": edge, "equation": [slow, {"block": "power", "coefficient": -1}]},
            "b": {
                "initial": 0,
                "boundary": edge,
                "equation": [slow, {"block": "power", "of": "a"}, {"block": "power", "p": 2, "coefficient": -k}],
            },
        },
        "time": {"end": 2},
        "output": {"frames": 5},
    }


@pytest.mark.parametrize("k", [10.0, K])
def test_fields_follow_fast_reactions_each_relative_to_itself(k: float) -> None:
    run = gleg.solve(reacting(k))
    truth = solve_ivp(
        lambda t, z: [-z[0], z[0] - k * z[1] ** 2],
        (0, 2), [1, 0], "Radau", t_eval=run.times, rtol=1e-11, atol=1e-16,
    )  # fmt: skip
    for name, exact in zip("ab", truth.y, strict=True):
        found = np.array([run.evaluate(name, np.array([[0.3]]), t)[0] for t in run.times])
        assert np.abs(found - exact).max() < 1e-5 * np.abs(exact).max(), name
    assert run.trajectory.steps < 1500
