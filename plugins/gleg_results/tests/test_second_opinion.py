"""Two discretisations of one problem: the wrong one is found out."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from gleg_core.spec.problem import load_problem
from gleg_results.second_opinion import second_opinion

DIRICHLET = {"kind": "dirichlet"}


def heat(domain: dict[str, Any], initial: Any, source: Any = 0, **keys: Any) -> dict[str, Any]:
    equation = [{"block": "diffusion", "twin": "analytic"}, {"block": "source", "value": source}]
    u = {"initial": initial, "boundary": [DIRICHLET], "equation": equation}
    return {"domain": domain, "fields": {"u": u}, "time": {"end": 0.3}, "output": {"frames": 4}, **keys}


L_SHAPE = {"kind": "polygon", "vertices": [[-1, -1], [1, -1], [1, 1], [0, 1], [0, 0], [-1, 0]]}


def test_the_l_shape_on_global_functions() -> None:
    """Wrong by several per cent: elements differ by that, and are believed."""
    wrong = heat(L_SHAPE, 0, 1, basis={"kind": "fourier", "K": 10})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        opinion = second_opinion(load_problem(wrong))
    assert opinion.largest > 1e-2 and opinion.believed == 1 and "elements" in opinion.verdict


def test_two_that_agree() -> None:
    """A smooth mode on the disk: both are right, and the difference is that of the less exact one."""
    mode = "besselj0(2.404825557695773*sqrt(x^2 + y^2))"
    opinion = second_opinion(load_problem(heat({"kind": "disk", "radius": 1}, mode)))
    assert opinion.largest < 1e-4
    first, second = opinion.runs
    assert {run.problem.basis.key for run in opinion.runs} == {"fourier:fourier", "elements:elements"}
    x = np.array([[0.3, 0.2], [-0.5, 0.1]])
    assert first.evaluate("u", x, 0.3) == pytest.approx(second.evaluate("u", x, 0.3), abs=1e-4)
